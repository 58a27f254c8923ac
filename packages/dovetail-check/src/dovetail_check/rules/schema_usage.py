"""basic/index#json-schema-usage and #icons: schemas and icons that a server publishes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dovetail.spec import keys
from dovetail_check.json_schemas import DEFAULT_DIALECT, schema_problems
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

unjudged |= {
    "base.jsonschema.explicit-dialect": "a permission: nothing to violate",
    "base.jsonschema.no-network-ref": "a client sends no schemas, so the checker cannot observe "
    "whether references are fetched",
}

_LISTS = ("tools", "prompts", "resources", "resourceTemplates")


class _Schema(NamedTuple):
    """One schema that the server published."""

    where: str
    value: dict[str, Any]

    @property
    def is_default(self) -> bool:
        """Whether it has no $schema, so the default dialect applies."""
        return "$schema" not in self.value


def _schemas(session: ProbeSession) -> Iterator[_Schema]:
    for tool in session.listed("tools"):
        for member in ("inputSchema", "outputSchema"):
            if isinstance(tool.get(member), dict):
                yield _Schema(f"{member} of {tool.get('name')!r}", tool[member])


def _judge(session: ProbeSession, schema: _Schema) -> Note:
    where = session.pages("tools")[0]
    problems = schema_problems(schema.value)
    if problems is None:
        dialect = schema.value.get("$schema")
        return ambiguous(
            where, f"{schema.where}: the checker does not know the dialect {dialect!r:.80}"
        )
    if problems:
        return violated(where, f"{schema.where} is not a valid schema: {problems[0]}")
    return satisfied(where)


@rule("base.jsonschema.2020-12-default", reads=("walk",))
def schemas_without_dialect_are_2020_12(session: ProbeSession) -> Iterator[Note]:
    """Schemas without $schema are valid 2020-12 schemas."""
    for schema in _schemas(session):
        if schema.is_default:
            yield _judge(session, schema)


@rule("base.jsonschema.valid", reads=("walk",))
def schemas_are_valid_in_their_dialect(session: ProbeSession) -> Iterator[Note]:
    """Each schema is valid against the metaschema of its dialect."""
    for schema in _schemas(session):
        yield _judge(session, schema)


@rule("base.jsonschema.recommended-2020-12", reads=("walk",))
def schemas_use_2020_12(session: ProbeSession) -> Iterator[Note]:
    """Schemas name the dialect 2020-12 or use it by default."""
    for schema in _schemas(session):
        dialect = schema.value.get("$schema", DEFAULT_DIALECT)
        if isinstance(dialect, str) and dialect.removesuffix("#") == DEFAULT_DIALECT:
            yield satisfied(session.pages("tools")[0])
        else:
            text = f"{schema.where} has the dialect {dialect!r:.80}; 2020-12 is recommended"
            yield violated(session.pages("tools")[0], text)


@rule("base.icons.src", reads=("walk",))
def icons_have_a_source(session: ProbeSession) -> Iterator[Note]:
    """src is an http(s) URL or a data URI."""
    for where, icon in _icons(session):
        src = icon.get("src") if isinstance(icon, dict) else None
        scheme = urlsplit(src).scheme if isinstance(src, str) and "[" not in src else ""
        if scheme in ("http", "https", "data"):
            yield satisfied(session.opening)
        else:
            yield violated(
                session.opening,
                f"an icon of {where} has the src {src!r:.60}; expected an http(s) or data URI",
            )


def _icons(session: ProbeSession) -> Iterator[tuple[str, Any]]:
    result = (session.opening.result if session.opening is not None else None) or {}
    meta = result.get("_meta")
    named = meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else None
    info = result.get("serverInfo", named)
    holders = [("the server", info)]
    for kind in _LISTS:
        holders += [(f"{kind} {item.get('name')!r}", item) for item in session.listed(kind)]
    for where, holder in holders:
        icons = holder.get("icons") if isinstance(holder, dict) else None
        for icon in icons if isinstance(icons, list) else ():
            yield where, icon
