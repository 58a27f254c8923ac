"""Lists the public API: every public name with its kind and signature.

usage: python -m tools.public_api [--write]

Without --write it prints. tests/contracts/public_api.txt holds the reviewed list, so a change of
the public API is always a changed line in a review.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ForwardRef

# The modules that users may import from; anything else may change without notice.
PUBLIC_MODULES = (
    "dovetail",
    "dovetail.auth",
    "dovetail.client",
    "dovetail.client.auth",
    "dovetail.commands",
    "dovetail.errors",
    "dovetail.extensions",
    "dovetail.generated",
    "dovetail.middleware",
    "dovetail.mount",
    "dovetail.observability",
    "dovetail.state",
    "dovetail.testing",
    "dovetail.transports",
)
# Those of packages that belong to the framework.
OUTER_MODULES = ("dovetail_gateway", "dovetail_openapi", "dovetail_redis")
REVIEWED = Path(__file__).resolve().parents[1] / "tests" / "contracts" / "public_api.txt"
COMMAND = "python -m tools.public_api --write"

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe_api() -> str:
    """The text of `public_api.txt` for the modules that exist."""
    return "".join(
        f"{line}\n"
        for name in (*PUBLIC_MODULES, *OUTER_MODULES)
        if importlib.util.find_spec(name) is not None
        for line in describe_module(importlib.import_module(name))
    )


def describe_module(module: ModuleType) -> Iterator[str]:
    """One line per name in `__all__`, and one per public member of its classes."""
    for name in sorted(getattr(module, "__all__", ())):
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        home = getattr(value, "__module__", None)
        if home in PUBLIC_MODULES and home != module.__name__:
            yield f"{path}  alias of {home}.{value.__qualname__}"
        elif inspect.isclass(value):
            yield from _describe_class(path, value)
        elif inspect.isroutine(value):
            yield f"{path}  {_kind(value)}{_signature(value)}"
        elif inspect.ismodule(value):
            yield f"{path}  module"
        else:
            yield f"{path}  value: {type(value).__qualname__}"


def find_undeclared(module: ModuleType) -> list[str]:
    """Public names that the source binds but `__all__` does not list, and the reverse."""
    declared = set(getattr(module, "__all__", ()))
    source = Path(module.__file__ or "")
    is_package = source.name == "__init__.py"
    tree = ast.parse(source.read_text("utf-8"))
    bound = {name for name in _bound_names(tree, imports=is_package) if not name.startswith("_")}
    return [
        *(f"{name} is public but not in __all__" for name in sorted(bound - declared)),
        *(f"{name} is in __all__ only" for name in sorted(declared) if not hasattr(module, name)),
    ]


def main(argv: Sequence[str]) -> int:
    """Print the public API or, with --write, update public_api.txt."""
    text = describe_api()
    if "--write" in argv:
        REVIEWED.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _bound_names(tree: ast.Module, *, imports: bool) -> Iterator[str]:
    """Names bound at the top of a module; imported ones count only in an `__init__`."""
    for node in _top_level(tree.body):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign() | ast.AnnAssign() | ast.For() | ast.With():
                stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
                yield from (n.id for n in stored if isinstance(n.ctx, ast.Store))
            case ast.ImportFrom(module="__future__"):
                continue
            case ast.Import() | ast.ImportFrom() if imports:
                yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, also those under `if` and `try`."""
    for node in body:
        yield node
        match node:
            case ast.If():
                yield from _top_level([*node.body, *node.orelse])
            case ast.Try():
                handlers = [part for handler in node.handlers for part in handler.body]
                yield from _top_level([*node.body, *handlers, *node.orelse, *node.finalbody])


def _describe_class(path: str, cls: type) -> Iterator[str]:
    bases = ", ".join(base.__qualname__ for base in cls.__bases__ if base is not object)
    # The constructor of an enum is Python's own and differs from version to version.
    signature = "" if issubclass(cls, Enum) else f" {_signature(cls)}"
    yield f"{path}  class{f' of {bases}' if bases else ''}{signature}"
    for name, member in sorted(_own_members(cls).items()):
        yield f"{path}.{name}  {_describe_member(cls, name, member)}"


def _own_members(cls: type) -> dict[str, Any]:
    """Public members that the class defines or inherits from a base that is not listed itself."""
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base is cls or _is_internal(base):
            members.update(dict.fromkeys(inspect.get_annotations(base)), **base.__dict__)
    return {name: value for name, value in members.items() if not name.startswith("_")}


def _is_internal(base: type) -> bool:
    """Whether users know this base only through its public subclasses."""
    if base.__name__.startswith("_"):
        return base.__module__ != "builtins"
    is_ours = base.__module__.partition(".")[0] == "dovetail"
    return is_ours and base.__module__ not in PUBLIC_MODULES and base not in _public_classes()


@cache
def _public_classes() -> frozenset[type]:
    modules = [importlib.import_module(name) for name in PUBLIC_MODULES]
    values = [getattr(module, name) for module in modules for name in module.__all__]
    return frozenset(value for value in values if inspect.isclass(value))


def _describe_member(cls: type, name: str, member: Any) -> str:
    if isinstance(member, property):
        return f"property{_signature(member.fget)}"
    if isinstance(member, classmethod | staticmethod):
        return f"{type(member).__name__}{_signature(getattr(cls, name))}"
    if inspect.isfunction(member):
        return f"{_kind(member)}{_signature(member)}"
    annotation = _annotations(cls).get(name)
    return "attribute" if annotation is None else f"attribute: {_annotation(annotation)}"


def _kind(value: Any) -> str:
    return "async def" if inspect.iscoroutinefunction(value) else "def"


class _Verbatim:
    """Shows an annotation as it is in the source, without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    # Structs resolve their annotations; the form in the source is shorter.
    written = _annotations(value) if inspect.isclass(value) else {}

    def spell(name: str, annotation: Any) -> str:
        is_spelled = isinstance(annotation, str)
        return _annotation(annotation if is_spelled else written.get(name, annotation))

    parameters = [
        parameter
        if parameter.annotation is parameter.empty
        else parameter.replace(annotation=_Verbatim(spell(name, parameter.annotation)))
        for name, parameter in signature.parameters.items()
    ]
    returns = signature.return_annotation
    if returns is not signature.empty:
        returns = _Verbatim(_annotation(returns))
    shown = signature.replace(parameters=parameters, return_annotation=returns)
    return _ADDRESS.sub("", str(shown))


def _annotations(cls: type) -> Mapping[str, Any]:
    """The annotations of a class and its bases, as the source spells them."""
    return ChainMap(*(inspect.get_annotations(base) for base in cls.__mro__))


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, ForwardRef):  # the annotations of a TypedDict
        return annotation.__forward_arg__
    return inspect.formatannotation(annotation)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
