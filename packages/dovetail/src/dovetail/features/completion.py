"""Completion of arguments of prompts and templates (server/utilities/completion)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.schema import ArgumentsSchema
from dovetail.errors import DuplicateError, InvalidParamsError, UsageError
from dovetail.features.content import to_json
from dovetail.features.handlers import HandlerSpec, author_error, inspect_handler
from dovetail.features.prompts import Prompts
from dovetail.features.resources import Resources
from dovetail.schema import choices, resolve
from dovetail.spec.models import CompleteParams, CompleteResult, Completion, PromptReference

__all__ = ["Completions"]

# completion.max-100 (2025-11-25 server/utilities/completion)
_MOST_VALUES = 100

_PROMPT = "prompt"


class _Completer:
    """A function that suggests values for one argument."""

    __slots__ = ("_names", "spec")

    def __init__(self, spec: HandlerSpec) -> None:
        self._names = [each.name for each in spec.parameters]
        if not 1 <= len(self._names) <= 2:
            raise UsageError(
                f"{spec.where}: a completer takes the text typed so far and optionally the "
                f"arguments given so far; this one takes {len(self._names)} parameters"
            )
        self.spec = spec

    def arguments(self, call: Call, params: CompleteParams) -> dict[str, Any]:
        """Return the keyword arguments for one run."""
        others = (params.context.arguments if params.context else None) or {}
        # The second parameter is optional.
        given = zip(self._names, (params.argument.value, others), strict=False)
        return self.spec.arguments(call, dict(given))

    def shape(self, call: Call, found: Any) -> CompleteResult:
        """Return the result from the value of the function."""
        if isinstance(found, str):
            found = [found]
        try:
            values = iter(found)
        except TypeError:
            error = UsageError(
                f"a completer must return a list of texts, got {type(found).__name__}"
            )
            raise self.spec.reject(found, error) from None
        return _result([str(value) for value in values])


def _result(texts: list[str]) -> CompleteResult:
    shown = texts[:_MOST_VALUES]
    return CompleteResult(
        completion=Completion(values=shown, total=len(texts), has_more=len(texts) > len(shown))
    )


def _listed(arguments: ArgumentsSchema, name: str) -> list[str]:
    """Return the values that the type of an argument lists: of a Literal or an Enum."""
    schema = arguments.json_schema
    found = choices(resolve(schema["properties"].get(name), schema), schema)
    values = [choice.value for choice in found if choice.value is not None]
    return [value if isinstance(value, str) else to_json(value) for value in values]


def _suggest(values: list[str], typed: str) -> CompleteResult:
    """Return the values that contain the text, those that begin with it first."""
    typed = typed.casefold()
    fitting = [value for value in values if typed in value.casefold()]
    return _result(sorted(fitting, key=lambda value: not value.casefold().startswith(typed)))


class Completions:
    """The completers of a server, by prompt or template and argument."""

    def __init__(self, prompts: Prompts, resources: Resources) -> None:
        self._prompts = prompts
        self._resources = resources
        self._completers: dict[tuple[str, str, str], _Completer] = {}

    def __len__(self) -> int:
        self._forget_orphans()
        return len(self._completers)

    @property
    def are_offered(self) -> bool:
        """Whether any argument has suggestions, of a completer or of its type."""
        return len(self) > 0 or any(
            _listed(each.arguments, name)
            for registry in (self._prompts.registry, self._resources.templates_registry)
            for each in registry
            for name in each.arguments.names
        )

    def __iter__(self) -> Iterator[_Completer]:
        self._forget_orphans()
        return iter(tuple(self._completers.values()))

    def _forget_orphans(self) -> None:
        """Remove the completers of prompts and templates that were removed."""
        for kind, name, argument in tuple(self._completers):
            home = self._prompts.registry if kind == _PROMPT else self._resources.templates_registry
            if name not in home:
                del self._completers[kind, name, argument]

    @author_error
    def add(
        self, target: Callable[..., Any] | str, argument: str, function: Callable[..., Any]
    ) -> None:
        """Complete `argument` of a prompt (its function or name) or a template (its text)."""
        self._forget_orphans()
        kind, name, arguments = self._target(target)
        if argument not in arguments:
            raise UsageError(
                f"{kind} {name!r} has no argument {argument!r}; it has "
                f"{', '.join(map(repr, arguments)) or 'none'}"
            )
        key = (kind, name, argument)
        if key in self._completers:
            first = self._completers[key].spec.where
            raise DuplicateError(
                f"{kind} {name!r} has a completer for {argument!r} already: {first}"
            )
        self._completers[key] = _Completer(inspect_handler(function, kind="completer"))

    def _target(self, target: Callable[..., Any] | str) -> tuple[str, str, tuple[str, ...]]:
        for prompt in self._prompts.registry:
            if prompt.spec.function == target or prompt.listing.name == target:
                return _PROMPT, prompt.listing.name, prompt.arguments.names
        for template in self._resources.templates_registry:
            text = template.template.text
            if template.spec.function == target or text == target:
                return "resource template", text, template.template.variables
        raise UsageError(
            f"nothing to complete: {target!r} is not a prompt or resource template of this server"
        )

    def copy_from(
        self, other: Completions, rename: Callable[[str], str], rename_uri: Callable[[str], str]
    ) -> None:
        """Add the completers of another server, for prompts and templates with new names."""
        other._forget_orphans()
        for (kind, name, argument), completer in other._completers.items():
            new = rename(name) if kind == _PROMPT else rename_uri(name)
            self._completers[kind, new, argument] = completer

    def methods(self) -> dict[str, MethodHandler]:
        """Return the handlers of the methods of this feature."""
        return {"completion/complete": MethodHandler(self._complete, needs_task=True)}

    def _complete(self, call: Call) -> Coroutine[Any, Any, CompleteResult] | CompleteResult:
        params: CompleteParams = call.params  # type: ignore[assignment]
        if isinstance(params.ref, PromptReference):
            name, kind = params.ref.name, _PROMPT
            described = self._prompts.find(call, name).arguments
            arguments = described.names
        else:
            template = self._resources.find_template(call, params.ref.uri)
            name, kind = template.template.text, "resource template"
            described, arguments = template.arguments, template.template.variables
        if params.argument.name not in arguments:
            # completion.missing-args-32602
            raise InvalidParamsError(
                f"{kind} {name!r} has no argument {params.argument.name[:100]!r}; it has "
                f"{', '.join(map(repr, arguments)) or 'none'}"
            )
        completer = self._completers.get((kind, name, params.argument.name))
        if completer is None:
            return _suggest(_listed(described, params.argument.name), params.argument.value)
        values = completer.arguments(call, params)
        return call.services.runner.start(call, completer.spec.handler, values, completer.shape)
