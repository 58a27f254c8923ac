"""The ceiling of HTTP: an application that reads the body and answers the same bytes each time.

It knows no protocol. Its answer and the headers around it are those that dovetail gives, so
that uvicorn and the kernel have the same to do for both.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from qa.bench.contestants.http_options import http_options

_options = http_options()
_ANSWER = _options["answer"].encode()
_HEADERS = [(name.encode(), value.encode()) for name, value in _options["headers"]]


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _ANSWER})
