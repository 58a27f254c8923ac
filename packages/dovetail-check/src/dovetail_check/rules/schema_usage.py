"""basic/index#json-schema-usage and #icons: what tools, prompts and resources publish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from dovetail.spec import keys
from dovetail_check.json_schemas import DEFAULT_DIALECT, schema_problems
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged |= {
    "base.jsonschema.explicit-dialect": "a permission: nothing to break",
    "base.jsonschema.no-network-ref": "a server gets no schemas from a client, so that it has "
    "nothing to fetch that could be watched",
}

_LISTS = ("tools", "prompts", "resources", "resourceTemplates")


class _Schema(NamedTuple):
    """One schema that the server published."""

    where: str
    value: dict[str, Any]

    @property
    def is_default(self) -> bool:
        """Whether it leaves its dialect to the specification."""
        return "$schema" not in self.value


def _schemas(seen: ProbeSession) -> Iterator[_Schema]:
    for tool in seen.listed("tools"):
        for member in ("inputSchema", "outputSchema"):
            if isinstance(tool.get(member), dict):
                yield _Schema(f"{member} of {tool.get('name')!r}", tool[member])


def _judge(seen: ProbeSession, schema: _Schema) -> Note:
    where = seen.pages("tools")[0]
    problems = schema_problems(schema.value)
    if problems is None:
        dialect = schema.value.get("$schema")
        return unsettled(where, f"{schema.where}: the dialect {dialect!r:.80} is not known here")
    if problems:
        return broken(where, f"{schema.where} is no valid schema: {problems[0]}")
    return kept(where)


@rule("base.jsonschema.2020-12-default", reads=("walk",))
def schemas_without_dialect_are_2020_12(seen: ProbeSession) -> Iterator[Note]:
    """They are valid as such."""
    for schema in _schemas(seen):
        if schema.is_default:
            yield _judge(seen, schema)


@rule("base.jsonschema.valid", reads=("walk",))
def schemas_are_valid_in_their_dialect(seen: ProbeSession) -> Iterator[Note]:
    """Each schema passes the metaschema that it names, or the default one."""
    for schema in _schemas(seen):
        yield _judge(seen, schema)


@rule("base.jsonschema.recommended-2020-12", reads=("walk",))
def schemas_use_2020_12(seen: ProbeSession) -> Iterator[Note]:
    """Named or by default."""
    for schema in _schemas(seen):
        dialect = schema.value.get("$schema", DEFAULT_DIALECT)
        if isinstance(dialect, str) and dialect.removesuffix("#") == DEFAULT_DIALECT:
            yield kept(seen.pages("tools")[0])
        else:
            text = f"{schema.where} is of the dialect {dialect!r:.80}; 2020-12 is recommended"
            yield broken(seen.pages("tools")[0], text)


@rule("base.icons.src", reads=("walk",))
def icons_have_a_source(seen: ProbeSession) -> Iterator[Note]:
    """src: an http(s) URL or a data URI."""
    for where, icon in _icons(seen):
        src = icon.get("src") if isinstance(icon, dict) else None
        scheme = urlsplit(src).scheme if isinstance(src, str) and "[" not in src else ""
        if scheme in ("http", "https", "data"):
            yield kept(seen.opening)
        else:
            yield broken(seen.opening, f"an icon of {where} has the src {src!r:.60}")


def _icons(seen: ProbeSession) -> Iterator[tuple[str, Any]]:
    result = (seen.opening.result if seen.opening is not None else None) or {}
    meta = result.get("_meta")
    named = meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else None
    info = result.get("serverInfo", named)
    holders = [("the server", info)]
    for kind in _LISTS:
        holders += [(f"{kind} {item.get('name')!r}", item) for item in seen.listed(kind)]
    for where, holder in holders:
        icons = holder.get("icons") if isinstance(holder, dict) else None
        for icon in icons if isinstance(icons, list) else ():
            yield where, icon
