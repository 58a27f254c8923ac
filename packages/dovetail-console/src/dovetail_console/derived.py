"""What a client derives from lists: headers from tools, and URIs from templates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from dovetail.errors import UsageError
from dovetail.spec.header_params import find_headers
from dovetail.wire import codec
from dovetail_console.workers import Answer, Job

__all__ = ["expand", "names_in", "serve_headers", "serve_uri"]


class _Tool(Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any] = {}


class _Asked(Struct):
    tools: list[_Tool]


def serve_headers(job: Job) -> Answer:
    """Return the headers by tool, and the tools that a client must leave out."""
    asked = job.read(_Asked, "tools")
    headers = {}
    excluded = []
    for tool in asked.tools:
        try:
            headers[tool.name] = find_headers(tool.input_schema, tool.name)
        except (UsageError, AttributeError, RecursionError) as error:
            excluded.append({"name": tool.name, "message": str(error)})
    return Answer(codec.encode({"headers": headers, "excluded": excluded}))


# -- URIs from templates, as far as they are filled in (RFC 6570) --------------------------------

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")
_MODIFIER = re.compile(r"\*|:\d+$")
_RESERVED = ":/?#[]@!$&'()*+,;="
# operator: (what comes first, what is between values)
_MARKS = {"": ("", ","), "+": ("", ","), "#": ("#", ","), "?": ("?", "&")}


class _UriAsked(Struct):
    template: str
    values: dict[str, str] = {}


def serve_uri(job: Job) -> Answer:
    """Return the names of the variables, and the URI."""
    asked = job.read(_UriAsked, "a template and values")
    found = {"names": names_in(asked.template), "uri": expand(asked.template, asked.values)}
    return Answer(codec.encode(found))


def names_in(template: str) -> list[str]:
    """The variables of a template, each of them once."""
    lists = (found[2] for found in _EXPRESSION.finditer(template))
    return list(dict.fromkeys(name for part in lists for name in _split(part)))


def expand(template: str, values: Mapping[str, str]) -> str:
    """The URI; variables without a value are left out."""

    def fill(found: re.Match[str]) -> str:
        operator = found[1]
        safe = _RESERVED if operator in ("+", "#") else ""
        parts = [
            (f"{name}=" if operator in (";", "?", "&") else "") + quote(values[name], safe=safe)
            for name in _split(found[2])
            if values.get(name)
        ]
        first, between = _MARKS.get(operator, (operator, operator))
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(fill, template)


def _split(names: str) -> list[str]:
    return [_MODIFIER.sub("", name) for name in names.split(",")]
