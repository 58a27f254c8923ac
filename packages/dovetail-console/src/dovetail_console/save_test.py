"""`POST api/test`: a call as a pytest file that makes the same call and expects the same result."""

from __future__ import annotations

import pprint
import re
from typing import Any

from msgspec import Struct

from dovetail.spec.revisions import find_revision
from dovetail.transports.asgi.messages import HttpResponse
from dovetail_console.config import describe_guard
from dovetail_console.console_site import ConsoleServer
from dovetail_console.requests import ApiRequest, RefusedError, public_url

__all__ = ["SavedCall", "serve_test", "write_test"]

_WIDTH = 92
_VARIABLE = "MCP_TOKEN"


class SavedCall(Struct):
    """A call that was made, and its result as the server sent it."""

    server: str
    tool: str
    revision: str
    result: dict[str, Any]
    arguments: dict[str, Any] = {}


async def serve_test(given: ApiRequest) -> HttpResponse:
    """Return the source of the test."""
    server = given.server
    call = given.read(SavedCall, "a call and its result")
    if find_revision(call.revision) is None:
        raise RefusedError(400, f"There is no revision {call.revision!r}")
    source = write_test(call, server, public_url(given.request, server.path or "/"))
    headers = [
        (b"content-type", b"text/x-python; charset=utf-8"),
        (b"content-disposition", f'attachment; filename="{_test_name(call)}.py"'.encode()),
    ]
    return HttpResponse(200, source.encode(), headers)


def write_test(call: SavedCall, server: ConsoleServer, url: str) -> str:
    """The source of a test; it reaches the server by its file or command, else by its URL."""
    target: Any = server.file or list(server.command) or server.url or url
    needs_token = target == url and describe_guard(server)["keys"]
    imports = ["import asyncio", *(["import os"] if needs_token else []), ""]
    more = ""
    if needs_token:
        more = f', headers={{"Authorization": f"Bearer {{os.environ[{_VARIABLE!r}]}}"}}'
    result = call.result
    checks = [f"assert result.is_error is {bool(result.get('isError', False))}"]
    if "structuredContent" in result:
        checks.append("assert result.structured == STRUCTURED")
    else:
        checks.append("assert result.text == TEXT")
    constants = [_constant("TARGET", target), _constant("ARGUMENTS", call.arguments)]
    if "structuredContent" in result:
        constants.append(_constant("STRUCTURED", result["structuredContent"]))
    else:
        constants.append(_constant("TEXT", _text_of(result)))
    lines = [
        '"""A call that was saved in the console."""',
        "",
        "from __future__ import annotations",
        "",
        *imports,
        "from dovetail.client import CallResult, Client",
        "",
        *constants,
        "",
        "",
        f"def {_test_name(call)}() -> None:",
        "    async def run() -> CallResult:",
        f"        async with Client(TARGET, mode={call.revision!r}{more}) as client:",
        f"            return await client.call({call.tool!r}, ARGUMENTS)",
        "",
        "    result = asyncio.run(run())",
        *(f"    {check}" for check in checks),
        "",
    ]
    return "\n".join(lines)


def _test_name(call: SavedCall) -> str:
    # Only ASCII letters, so that a name cannot become code or a path.
    plain = re.sub(r"[^A-Za-z0-9]+", "_", call.tool).strip("_").lower()
    return f"test_{plain or 'call'}"


def _constant(name: str, value: Any) -> str:
    return f"{name} = {pprint.pformat(value, width=_WIDTH, sort_dicts=False)}"


def _text_of(result: dict[str, Any]) -> str:
    blocks = result.get("content")
    found = [
        str(block.get("text", ""))
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and block.get("type") == "text"
    ]
    return "\n".join(found)
