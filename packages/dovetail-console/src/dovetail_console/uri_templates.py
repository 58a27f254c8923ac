"""`POST api/uri`: a URI from the template of any server, as far as it is filled in (RFC 6570)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from msgspec import Struct

from dovetail.transports.asgi.messages import HttpResponse
from dovetail.wire import codec
from dovetail_console.requests import ApiRequest

__all__ = ["expand", "names_in", "serve_uri"]

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")
_MODIFIER = re.compile(r"\*|:\d+$")
_RESERVED = ":/?#[]@!$&'()*+,;="
# operator: (what comes first, what is between values)
_MARKS = {"": ("", ","), "+": ("", ","), "#": ("#", ","), "?": ("?", "&")}


class _Asked(Struct):
    template: str
    values: dict[str, str] = {}


async def serve_uri(given: ApiRequest) -> HttpResponse:
    """Return the names of the variables, and the URI."""
    asked = given.read(_Asked, "a template and values")
    found = {"names": names_in(asked.template), "uri": expand(asked.template, asked.values)}
    return HttpResponse(200, codec.encode(found))


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
