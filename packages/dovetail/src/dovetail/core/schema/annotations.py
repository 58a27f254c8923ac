"""Read a function: parameters, resolved annotations, and descriptions in its docstring.

Annotations may be strings (`from __future__ import annotations`). Names are looked up in the
module of the function and in its closure. While a decorator runs inside the function that
defines the handler, the variables of that enclosing function are searched as well.

Wrappers made with `functools.wraps` and `functools.partial` objects are read as the function
inside them.

Docstrings are in Google, NumPy or Sphinx style; anything else is plain text. The result has the
text before the first section, a text for each parameter, and the description of the returned value.
A style is recognised by its section headings or fields, so that a sentence with a colon stays a
sentence.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dovetail.core.schema.pydantic_types import default_of, split_field_default, text_of_field
from dovetail.errors import UsageError

__all__ = [
    "MISSING",
    "Description",
    "Parameter",
    "bound_keywords",
    "docstring_of",
    "name_of_function",
    "parse_docstring",
    "plain_function",
    "read_hints",
    "read_parameters",
    "text_in",
    "without_partial",
]

MISSING = inspect.Parameter.empty
VARIABLE_KINDS = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function, for callers that pass it by name."""

    name: str
    annotation: Any
    default: Any
    make_default: Callable[[], Any] | None
    is_positional_only: bool

    @property
    def is_required(self) -> bool:
        """Whether a caller must send it."""
        return self.default is MISSING


def read_parameters(
    fn: Callable[..., Any],
    skip: Collection[str] = (),
    *,
    any_keywords: bool = False,
    where: str | None = None,
) -> list[Parameter]:
    """Return the parameters in order, without those in `skip` (the server fills those in).

    `where` names the function in error messages.
    """
    where = where or name_of_function(fn)
    found = []
    for parameter in _signature(fn, where).parameters.values():
        if parameter.name in skip:
            continue
        if parameter.kind in VARIABLE_KINDS:
            _refuse_variable(parameter, any_keywords, where)
            continue
        annotation = _resolve(fn, parameter.name, parameter.annotation, where)
        found.append(_parameter(parameter, Any if annotation is MISSING else annotation))
    return found


def read_hints(fn: Callable[..., Any], where: str | None = None) -> dict[str, Any]:
    """Return the resolved annotations of the parameters, and of the result under "return"."""
    where = where or name_of_function(fn)
    signature = _signature(fn, where)
    written = {name: each.annotation for name, each in signature.parameters.items()}
    written["return"] = signature.return_annotation
    return {
        name: _resolve(fn, name, annotation, where)
        for name, annotation in written.items()
        if annotation is not MISSING
    }


def _refuse_variable(parameter: inspect.Parameter, any_keywords: bool, where: str) -> None:
    is_keywords = parameter.kind is inspect.Parameter.VAR_KEYWORD
    if is_keywords and any_keywords:
        return
    stars = "**" if is_keywords else "*"
    remedy = "or write its input_schema= by hand" if is_keywords else "or take a list"
    raise UsageError(
        f"{where}: {stars}{parameter.name} cannot be described as named arguments; "
        f"name every parameter {remedy}"
    )


def _parameter(parameter: inspect.Parameter, annotation: Any) -> Parameter:
    default, make_default = parameter.default, None
    annotation, has_field = split_field_default(annotation, default)
    if has_field:
        field, default = default, default_of(default, MISSING)
        if default is not MISSING:
            # The default of the function is the Field object, so the value is always passed.
            make_default = functools.partial(default_of, field, MISSING)
    is_positional_only = parameter.kind is inspect.Parameter.POSITIONAL_ONLY
    return Parameter(parameter.name, annotation, default, make_default, is_positional_only)


def takes_any_keyword(fn: Callable[..., Any]) -> bool:
    """Whether the function has `**kwargs`."""
    kinds = [parameter.kind for parameter in inspect.signature(fn).parameters.values()]
    return inspect.Parameter.VAR_KEYWORD in kinds


def text_in(annotation: Any) -> str | None:
    """Return the description in `Annotated[T, "text"]`, a msgspec `Meta` or a pydantic `Field`."""
    for metadata in getattr(annotation, "__metadata__", ()):
        if isinstance(metadata, str):
            return metadata
        text = metadata.description if isinstance(metadata, msgspec.Meta) else None
        text = text or text_of_field(metadata)
        if text:
            return text
    return None


def name_of_function(fn: Callable[..., Any]) -> str:
    """Return the name for error messages; an object without one has the name of its class."""
    fn = without_partial(fn)
    return getattr(fn, "__name__", None) or type(fn).__name__


def docstring_of(fn: Callable[..., Any]) -> str | None:
    """Return the docstring; for a partial object that of the function inside."""
    return inspect.getdoc(without_partial(fn))


def bound_keywords(fn: Callable[..., Any]) -> frozenset[str]:
    """Return the parameters that `functools.partial` has set by keyword.

    `inspect.signature` still shows those, with a default; it leaves out the ones set by position.
    """
    bound: frozenset[str] = frozenset()
    while isinstance(fn, functools.partial):
        bound |= fn.keywords.keys()
        fn = fn.func
    return bound


def without_partial(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside `functools.partial` objects."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn


def plain_function(fn: Callable[..., Any]) -> Any:
    """Return the function inside wrappers, partials, bound methods and callable objects."""
    fn = inspect.unwrap(fn)
    while isinstance(fn, functools.partial):
        fn = inspect.unwrap(fn.func)
    if not inspect.isroutine(fn):
        fn = fn.__init__ if isinstance(fn, type) else type(fn).__call__  # type: ignore[misc]
    return getattr(fn, "__func__", fn)


def _signature(fn: Callable[..., Any], where: str) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{where} has no signature that Python can read ({error}); wrap it in a function with "
            "named parameters"
        ) from None


def _resolve(fn: Callable[..., Any], name: str, annotation: Any, where: str) -> Any:
    if annotation is MISSING:
        return annotation
    function = plain_function(fn)
    module = getattr(function, "__globals__", {})
    closure = inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}
    holder = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        hints = typing.get_type_hints(holder, module, dict(closure), include_extras=True)
    except NameError:
        names = {**_enclosing_variables(function), **closure}
        try:
            hints = typing.get_type_hints(holder, module, names, include_extras=True)
        except NameError as error:
            raise UsageError(
                f"{where}: the annotation of {name!r} cannot be resolved: {error}; import the "
                "type at run time and define it at module level"
            ) from None
    except (SyntaxError, TypeError) as error:
        raise UsageError(f"{where}: the annotation of {name!r} is not a type: {error}") from None
    return hints[name]


def _enclosing_variables(function: Any) -> dict[str, Any]:
    """Return the variables of the running functions that enclose the definition of `function`."""
    outer, _, _ = function.__qualname__.rpartition(".<locals>.")
    found: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None and outer:
        if outer == frame.f_code.co_qualname or outer.startswith(frame.f_code.co_qualname + "."):
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


PARAMETER_SECTIONS = {
    "args",
    "arguments",
    "keyword args",
    "keyword arguments",
    "other parameters",
    "parameters",
    "params",
    "attributes",
}
RETURN_SECTIONS = {"returns", "return", "yields", "yield"}
OTHER_SECTIONS = {
    "example",
    "examples",
    "note",
    "notes",
    "raises",
    "references",
    "see also",
    "todo",
    "warning",
    "warnings",
    "warns",
}
# Only these end the summary: a note or an example before them belongs to it.
ENDING_SECTIONS = PARAMETER_SECTIONS | RETURN_SECTIONS | {"raises"}
ALL_SECTIONS = ENDING_SECTIONS | OTHER_SECTIONS

GOOGLE_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)\s*(?:\((?P<type>.*?)\))?:(?:\s+|$)(?P<text>.*)")
GOOGLE_RETURN_TYPE = re.compile(
    r"[\w.]+(?:\[[^:]*\])?(?:\s*\|\s*[\w.\[\], ]+)*:\s+(?P<text>.*)", re.S
)
NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
SPHINX_FIELD = re.compile(r":(?P<kind>\w+)(?P<words>[^:]*):\s*(?P<text>.*)")
SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}


@dataclass(frozen=True, slots=True)
class Description:
    """A parsed docstring."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str | None = None


def parse_docstring(text: str | None) -> Description:
    """Return summary, parameters and returned value of a docstring."""
    if not text:
        return Description()
    lines = inspect.cleandoc(text).splitlines()
    for parse in (_parse_numpy, _parse_google, _parse_sphinx):
        found = parse(lines)
        if found is not None:
            return found
    return Description(_joined(lines))


def _parse_google(lines: list[str]) -> Description | None:
    starts = [
        index
        for index, line in enumerate(lines)
        if line.endswith(":") and line[:-1].lower() in ALL_SECTIONS
    ]
    ending = [index for index in starts if lines[index][:-1].lower() in ENDING_SECTIONS]
    if not ending:
        return None
    parameters: dict[str, str] = {}
    returns = None
    for start in starts:
        title = lines[start][:-1].lower()
        body = _indented_block(lines[start + 1 :])
        if title in PARAMETER_SECTIONS:
            parameters.update(_google_entries(body))
        elif title in RETURN_SECTIONS:
            whole = _joined(body)
            typed = GOOGLE_RETURN_TYPE.fullmatch(whole)
            returns = typed["text"] if typed else whole
    return Description(_joined(lines[: ending[0]]), parameters, returns or None)


def _google_entries(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        entry = None if line.startswith(" ") else GOOGLE_ENTRY.match(line)
        if entry:
            current = found.setdefault(entry["name"].lstrip("*"), [entry["text"]])
        elif current is not None:
            current.append(line.strip())
    return {name: _paragraph(texts) for name, texts in found.items()}


def _parse_numpy(lines: list[str]) -> Description | None:
    starts = [
        index
        for index, line in enumerate(lines[:-1])
        if line.lower() in ALL_SECTIONS and re.fullmatch(r"-{3,}", lines[index + 1])
    ]
    ending = [index for index in starts if lines[index].lower() in ENDING_SECTIONS]
    if not ending:
        return None
    parameters: dict[str, str] = {}
    returns = None
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        title = lines[start].lower()
        body = lines[start + 2 : end]
        if title in PARAMETER_SECTIONS:
            parameters.update(_numpy_entries(body))
        elif title in RETURN_SECTIONS:
            # The first line names the type; the text is indented below it.
            indented = [line for line in body if line.startswith(" ")]
            returns = _paragraph(indented or body)
    return Description(_joined(lines[: ending[0]]), parameters, returns or None)


def _numpy_entries(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        entry = None if line.startswith(" ") else NUMPY_ENTRY.match(line)
        if entry:
            current = []
            for name in entry["names"].split(","):
                found[name.strip().lstrip("*")] = current
        elif current is not None:
            current.append(line)
    return {name: _paragraph(texts) for name, texts in found.items()}


def _parse_sphinx(lines: list[str]) -> Description | None:
    parameters: dict[str, str] = {}
    returns = None
    first = None
    for index, line in enumerate(lines):
        match = SPHINX_FIELD.match(line)
        if match is None:
            continue
        first = index if first is None else first
        text = _paragraph([match["text"], *_continuation(lines[index + 1 :])])
        if match["kind"] in SPHINX_PARAMETERS and match["words"].split():
            # `:param int count: text` names the type first.
            parameters[match["words"].split()[-1].lstrip("*")] = text
        elif match["kind"] in {"return", "returns"}:
            returns = text
    if first is None:
        return None
    return Description(_joined(lines[:first]), parameters, returns)


def _continuation(lines: list[str]) -> list[str]:
    taken = []
    for line in lines:
        if not line.startswith(" "):
            break
        taken.append(line)
    return taken


def _indented_block(lines: list[str]) -> list[str]:
    """The lines that belong to a Google section: indented or empty."""
    block = []
    for line in lines:
        if line and not line.startswith(" "):
            break
        block.append(line)
    return inspect.cleandoc("\n".join(block)).splitlines()


def _paragraph(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip()
