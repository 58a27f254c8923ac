"""server/tools: what can be read off the list of tools, without calling any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.json_schemas import schema_problems
from dovetail_check.noting import note_each, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_WALK = ("walk",)
_LONGEST_NAME = 128


def _called(tool: dict[str, Any]) -> str:
    return f"tool {tool.get('name')!r:.80}"


@rule("tools.schema.shape", reads=_WALK)
def tools_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """Every member is what the schema of the revision says."""
    yield from undeclared(seen, "tools")

    def problem(tool: dict[str, Any]) -> str | None:
        found = shapes.problems(tool, "Tool", seen.revision)
        return f"{_called(tool)}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(seen, "tools"), problem)


# -- schemas ---------------------------------------------------------------------------------------


def _valid_schema(seen: ProbeSession, member: str) -> Iterator[Note]:
    yield from undeclared(seen, "tools")
    for page, tool in offered(seen, "tools"):
        if member not in tool:
            continue
        schema = tool[member]
        problems = schema_problems(schema)
        if problems is None:
            declared = schema.get("$schema") if isinstance(schema, dict) else None
            yield unsettled(
                page,
                f"{_called(tool)}: {member} declares the dialect {declared!r:.80}, which "
                "this checker cannot judge; other dialects than 2020-12 are allowed",
            )
        elif problems:
            yield broken(page, f"{_called(tool)}: {member} is no valid schema, {problems[0]}")
        else:
            yield kept(page)


@rule("tools.inputschema.valid", reads=_WALK)
def input_schemas_are_valid(seen: ProbeSession) -> Iterator[Note]:
    """By the metaschema of the dialect that each declares."""
    yield from _valid_schema(seen, "inputSchema")


@rule("tools.outputschema.valid", reads=_WALK)
def output_schemas_are_valid(seen: ProbeSession) -> Iterator[Note]:
    """By the metaschema of the dialect that each declares."""
    yield from _valid_schema(seen, "outputSchema")


def _root_object(seen: ProbeSession, member: str, *, must_be_there: bool) -> Iterator[Note]:
    yield from undeclared(seen, "tools")
    for page, tool in offered(seen, "tools"):
        if member not in tool and not must_be_there:
            continue
        schema = tool.get(member)
        root = schema.get("type") if isinstance(schema, dict) else None
        if root == "object":
            yield kept(page)
        else:
            got = f"type {root!r:.60}" if isinstance(schema, dict) else f"{schema!r:.60}"
            yield broken(page, f"{_called(tool)}: {member} has {got} at its root; object was due")


@rule("tools.inputschema.root-object", reads=_WALK)
def input_schemas_are_of_objects(seen: ProbeSession) -> Iterator[Note]:
    """The root says type object."""
    yield from _root_object(seen, "inputSchema", must_be_there=True)


@rule("tools.outputschema.root-object", reads=_WALK)
def output_schemas_are_of_objects(seen: ProbeSession) -> Iterator[Note]:
    """The root says type object."""
    yield from _root_object(seen, "outputSchema", must_be_there=False)


@rule("tools.inputschema.no-params", reads=_WALK)
def tools_without_parameters_refuse_any(seen: ProbeSession) -> Iterator[Note]:
    """A schema without properties is closed."""
    for page, tool in offered(seen, "tools"):
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.keys() - _OF_AN_EMPTY_OBJECT:
            continue
        if schema.get("properties"):
            continue
        if schema.get("additionalProperties") is False:
            yield kept(page)
        else:
            yield broken(
                page,
                f"{_called(tool)} has no parameters, but its inputSchema lets any through; "
                "additionalProperties false is recommended",
            )


_OF_AN_EMPTY_OBJECT = frozenset(
    {"type", "properties", "additionalProperties", "$schema", "title", "description", "required"}
)


# -- names -----------------------------------------------------------------------------------------


def _names(seen: ProbeSession) -> Iterator[tuple[Any, str]]:
    for page, tool in offered(seen, "tools"):
        if isinstance(tool.get("name"), str):
            yield page, tool["name"]


@rule("tools.name.length", reads=_WALK)
def names_are_neither_empty_nor_long(seen: ProbeSession) -> Iterator[Note]:
    """1 to 128 characters."""
    yield from undeclared(seen, "tools")

    def problem(name: str) -> str | None:
        if 1 <= len(name) <= _LONGEST_NAME:
            return None
        return f"the name {name[:40]!r} has {len(name)} characters; 1 to {_LONGEST_NAME} were due"

    yield from note_each(_names(seen), problem)


@rule("tools.name.charset", reads=_WALK)
def names_have_plain_characters(seen: ProbeSession) -> Iterator[Note]:
    """ASCII letters, digits, underscore, hyphen, dot."""
    yield from undeclared(seen, "tools")

    def problem(name: str) -> str | None:
        strange = sorted(set(re.sub(r"[A-Za-z0-9_.\-]", "", name)))
        return f"the name {name[:80]!r} has {strange[:5]} in it" if strange else None

    yield from note_each(_names(seen), problem)


@rule("tools.name.no-special", reads=_WALK)
def names_have_no_spaces_or_commas(seen: ProbeSession) -> Iterator[Note]:
    """No white space, and no sign but underscore, hyphen and dot."""
    yield from undeclared(seen, "tools")

    def problem(name: str) -> str | None:
        special = sorted({char for char in name if not char.isalnum() and char not in "_-."})
        return f"the name {name[:80]!r} has {special[:5]} in it" if special else None

    yield from note_each(_names(seen), problem)


@rule("tools.name.unique", reads=_WALK)
def names_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """No name twice, on whatever page."""
    yield from undeclared(seen, "tools")
    found = list(_names(seen))
    often = Counter(name for _, name in found)
    for page, name in found:
        if often[name] > 1:
            yield broken(page, f"{often[name]} tools are called {name[:80]!r}")
        else:
            yield kept(page)


# -- annotations -----------------------------------------------------------------------------------


def _hints(seen: ProbeSession) -> Iterator[tuple[Any, dict[str, Any]]]:
    for page, tool in offered(seen, "tools"):
        if "annotations" in tool:
            yield page, tool


@rule("tools.annotations.types", reads=_WALK)
def annotations_have_their_types(seen: ProbeSession) -> Iterator[Note]:
    """Hints are booleans, the title is a text."""
    yield from undeclared(seen, "tools")
    found = list(_hints(seen))
    if not found and seen.pages("tools"):
        yield absent("no tool has annotations")

    def problem(tool: dict[str, Any]) -> str | None:
        wrong = shapes.problems(tool["annotations"], "ToolAnnotations", seen.revision)
        return f"{_called(tool)}: annotations, {'; '.join(wrong[:3])}" if wrong else None

    yield from note_each(found, problem)


@rule("tools.annotations.coherent", reads=_WALK)
def read_only_tools_are_not_destructive(seen: ProbeSession) -> Iterator[Note]:
    """destructiveHint true contradicts readOnlyHint true."""
    for page, tool in _hints(seen):
        hints = tool["annotations"] if isinstance(tool["annotations"], dict) else {}
        if hints.get("readOnlyHint") is not True:
            continue
        if hints.get("destructiveHint") is True:
            yield broken(page, f"{_called(tool)} says it is read-only and destructive")
        else:
            yield kept(page)
