"""server/tools: the list of tools, without calling them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.escaping import shown
from dovetail_check.json_schemas import schema_problems
from dovetail_check.notes import note_each, offered, page_problems, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_WALK = ("walk",)
_LONGEST_NAME = 128


def _called(tool: dict[str, Any]) -> str:
    return f"tool {tool.get('name')!r:.80}"


@rule("tools.schema.shape", reads=_WALK)
def tools_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """Tools match the schema of the revision."""
    yield from undeclared(session, "tools")

    def problem(tool: dict[str, Any]) -> str | None:
        found = shapes.problems(tool, "Tool", session.revision)
        return f"{_called(tool)}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(session, "tools"), problem)
    yield from page_problems(session, "tools", "tools/list")


# -- schemas ---------------------------------------------------------------------------------------


def _valid_schema(session: ProbeSession, member: str) -> Iterator[Note]:
    yield from undeclared(session, "tools")
    for page, tool in offered(session, "tools"):
        if member not in tool:
            continue
        schema = tool[member]
        problems = schema_problems(schema)
        if problems is None:
            declared = schema.get("$schema") if isinstance(schema, dict) else None
            yield ambiguous(
                page,
                f"{_called(tool)}: {member} has the dialect {declared!r:.80}, which the checker "
                "does not know; dialects other than 2020-12 are allowed",
            )
        elif problems:
            yield violated(page, f"{_called(tool)}: {member} is not a valid schema: {problems[0]}")
        else:
            yield satisfied(page)


@rule("tools.inputschema.valid", reads=_WALK)
def input_schemas_are_valid(session: ProbeSession) -> Iterator[Note]:
    """Each schema is valid against the metaschema of its dialect."""
    yield from _valid_schema(session, "inputSchema")


@rule("tools.outputschema.valid", reads=_WALK)
def output_schemas_are_valid(session: ProbeSession) -> Iterator[Note]:
    """Each schema is valid against the metaschema of its dialect."""
    yield from _valid_schema(session, "outputSchema")


def _root_object(session: ProbeSession, member: str, *, required: bool) -> Iterator[Note]:
    yield from undeclared(session, "tools")
    for page, tool in offered(session, "tools"):
        if member not in tool and not required:
            continue
        schema = tool.get(member)
        root = schema.get("type") if isinstance(schema, dict) else None
        if root == "object":
            yield satisfied(page)
        else:
            got = f"type {shown(root)}" if isinstance(schema, dict) else f"{shown(schema)}"
            yield violated(
                page, f"{_called(tool)}: {member} has {got} at its root; expected type 'object'"
            )


@rule("tools.inputschema.root-object", reads=_WALK)
def input_schemas_are_of_objects(session: ProbeSession) -> Iterator[Note]:
    """The root of each schema has type object."""
    yield from _root_object(session, "inputSchema", required=True)


@rule("tools.outputschema.root-object", reads=_WALK)
def output_schemas_are_of_objects(session: ProbeSession) -> Iterator[Note]:
    """The root of each schema has type object."""
    yield from _root_object(session, "outputSchema", required=False)


@rule("tools.inputschema.no-params", reads=_WALK)
def tools_without_parameters_allow_none(session: ProbeSession) -> Iterator[Note]:
    """A schema without properties has additionalProperties false."""
    for page, tool in offered(session, "tools"):
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.keys() - _EMPTY_OBJECT_KEYS:
            continue
        if schema.get("properties"):
            continue
        if schema.get("additionalProperties") is False:
            yield satisfied(page)
        else:
            yield violated(
                page,
                f"{_called(tool)} has no parameters, but its inputSchema allows any; "
                "additionalProperties false is recommended",
            )


_EMPTY_OBJECT_KEYS = frozenset(
    {"type", "properties", "additionalProperties", "$schema", "title", "description", "required"}
)


# -- names -----------------------------------------------------------------------------------------


def _names(session: ProbeSession) -> Iterator[tuple[Any, str]]:
    for page, tool in offered(session, "tools"):
        if isinstance(tool.get("name"), str):
            yield page, tool["name"]


@rule("tools.name.length", reads=_WALK)
def names_are_neither_empty_nor_long(session: ProbeSession) -> Iterator[Note]:
    """Names have 1 to 128 characters."""
    yield from undeclared(session, "tools")

    def problem(name: str) -> str | None:
        if 1 <= len(name) <= _LONGEST_NAME:
            return None
        return f"the name {name[:40]!r} has {len(name)} characters; expected 1 to {_LONGEST_NAME}"

    yield from note_each(_names(session), problem)


@rule("tools.name.charset", reads=_WALK)
def names_have_plain_characters(session: ProbeSession) -> Iterator[Note]:
    """Names have only ASCII letters, digits, underscore, hyphen and dot."""
    yield from undeclared(session, "tools")

    def problem(name: str) -> str | None:
        strange = sorted(set(re.sub(r"[A-Za-z0-9_.\-]", "", name)))
        return f"the name {name[:80]!r} contains {strange[:5]}" if strange else None

    yield from note_each(_names(session), problem)


@rule("tools.name.no-special", reads=_WALK)
def names_have_no_spaces_or_commas(session: ProbeSession) -> Iterator[Note]:
    """Names have no white space, and no punctuation except underscore, hyphen and dot."""
    yield from undeclared(session, "tools")

    def problem(name: str) -> str | None:
        special = sorted({char for char in name if not char.isalnum() and char not in "_-."})
        return f"the name {name[:80]!r} contains {special[:5]}" if special else None

    yield from note_each(_names(session), problem)


@rule("tools.name.unique", reads=_WALK)
def names_are_unique(session: ProbeSession) -> Iterator[Note]:
    """No name occurs twice, on any page."""
    yield from undeclared(session, "tools")
    found = list(_names(session))
    often = Counter(name for _, name in found)
    for page, name in found:
        if often[name] > 1:
            yield violated(page, f"{often[name]} tools have the name {name[:80]!r}")
        else:
            yield satisfied(page)


# -- annotations -----------------------------------------------------------------------------------


def _hints(session: ProbeSession) -> Iterator[tuple[Any, dict[str, Any]]]:
    for page, tool in offered(session, "tools"):
        if "annotations" in tool:
            yield page, tool


@rule("tools.annotations.types", reads=_WALK)
def annotations_have_their_types(session: ProbeSession) -> Iterator[Note]:
    """Hints are booleans, and the title is a string."""
    yield from undeclared(session, "tools")
    found = list(_hints(session))
    if not found and session.pages("tools"):
        yield not_applicable("no tool has annotations")

    def problem(tool: dict[str, Any]) -> str | None:
        wrong = shapes.problems(tool["annotations"], "ToolAnnotations", session.revision)
        return f"{_called(tool)}: annotations: {'; '.join(wrong[:3])}" if wrong else None

    yield from note_each(found, problem)


@rule("tools.annotations.coherent", reads=_WALK)
def read_only_tools_are_not_destructive(session: ProbeSession) -> Iterator[Note]:
    """destructiveHint true contradicts readOnlyHint true."""
    for page, tool in _hints(session):
        hints = tool["annotations"] if isinstance(tool["annotations"], dict) else {}
        if hints.get("readOnlyHint") is not True:
            continue
        if hints.get("destructiveHint") is True:
            yield violated(page, f"{_called(tool)} is marked as both read-only and destructive")
        else:
            yield satisfied(page)
