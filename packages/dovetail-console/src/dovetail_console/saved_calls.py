"""A call as something to keep: `POST api/copy` returns text to paste, `POST api/test` a test.

The test is a pytest file that makes the same call and expects the same result.
"""

from __future__ import annotations

import pprint
import re
import shlex
from typing import Any, Literal

from msgspec import Struct

from dovetail.spec.revisions import Family, find_revision
from dovetail.wire import codec
from dovetail_console.requests import RefusedError
from dovetail_console.workers import Answer, Job, ServerFacts, measure

__all__ = [
    "CopiedCall",
    "SavedCall",
    "SentRequest",
    "as_command",
    "as_curl",
    "as_python",
    "serve_copy",
    "serve_test",
    "write_test",
]

_SECRET = re.compile(r"authorization|x-api-key", re.IGNORECASE)
_PROGRAM = """\
import asyncio

from dovetail import Client


async def main() -> None:
    async with Client({target!r}, mode={revision!r}) as client:
        result = await client.call({tool!r}, {arguments!r})
        print(result.text)


asyncio.run(main())
"""
_FIND_SESSION = """tr -d '\\r' | awk 'tolower($1)=="mcp-session-id:" {print $2}'"""
_SESSION = ' -H "Mcp-Session-Id: $SESSION"'


class SentRequest(Struct):
    """The request as the page sends it, at its revision of now."""

    revision: str
    url: str
    headers: dict[str, str]
    body: dict[str, Any]


class CopiedCall(Struct, rename={"style": "as"}):
    """A call and the form in which it is wanted."""

    server: str
    style: Literal["dovetail call", "Python", "curl"]
    tool: str
    revision: str
    request: SentRequest
    arguments: dict[str, Any] = {}


def serve_copy(job: Job) -> Answer:
    """Return the text."""
    server = job.server
    call = job.read(CopiedCall, "a call")
    if call.style == "curl":
        text = as_curl(call, server)
    else:
        write = as_python if call.style == "Python" else as_command
        text = write(call, server.target)
    return Answer(text.encode(), "text/plain; charset=utf-8")


def as_command(call: CopiedCall, target: str) -> str:
    """The command line `dovetail call`; a target that is a command is its end."""
    is_command = target.startswith("-- ")
    words = ["--args", codec.encode(call.arguments).decode(), "--mode", call.revision]
    if "Authorization" in call.request.headers:
        words += ["--token-env", "TOKEN"]
    before = "dovetail call" if is_command else f"dovetail call {target}"
    return f"{before} {shlex.join([call.tool, *words])}" + (f" {target}" if is_command else "")


def as_python(call: CopiedCall, target: str) -> str:
    """A program with dovetail's client."""
    where = shlex.split(target[3:]) if target.startswith("-- ") else target
    return _PROGRAM.format(
        target=where, revision=call.revision, tool=call.tool, arguments=call.arguments
    )


def as_curl(call: CopiedCall, server: ServerFacts) -> str:
    """A curl command; legacy revisions need a session, which it starts.

    It goes to the URL of a target, if it has one, and else through the console.
    """
    sent = call.request
    dropped = ("Mcp-Session-Id", *(["X-Console-Token"] if server.is_remote else []))
    headers = "".join(
        f" \\\n  -H {_header(name, value)}"
        for name, value in sent.headers.items()
        if name not in dropped
    )
    curl = f"curl -sN {shlex.quote(server.url if server.is_remote else sent.url)}{headers}"
    revision = find_revision(sent.revision)
    if revision is not None and revision.family is Family.MODERN:
        return curl + _data(sent.body)
    about = {"name": "curl", "version": "1"}
    params = {"protocolVersion": sent.revision, "capabilities": {}, "clientInfo": about}
    hello = {**sent.body, "id": 0, "method": "initialize", "params": params}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    return "\n".join(
        [
            f"SESSION=$({curl} -D - -o /dev/null{_data(hello)} | {_FIND_SESSION})",
            f"{curl}{_SESSION}{_data(ready)}",
            f"{curl}{_SESSION}{_data(sent.body)}",
        ]
    )


def _header(name: str, value: str) -> str:
    if not _SECRET.fullmatch(name):
        return shlex.quote(f"{name}: {value}")
    # The secret itself is not copied.
    return f'"{name}: {"Bearer " if value.startswith("Bearer ") else ""}$TOKEN"'


def _data(message: dict[str, Any]) -> str:
    return f" \\\n  -d {shlex.quote(codec.encode(message).decode())}"


# -- tests -------------------------------------------------------------------------------------

_WIDTH = 92
_VARIABLE = "MCP_TOKEN"
# Of what a test contains. A value is written again for each level that it is deep.
_MAX_NODES = 20_000
_MAX_DEPTH = 60


class SavedCall(Struct):
    """A call that was made, and its result as the server sent it."""

    server: str
    tool: str
    revision: str
    result: dict[str, Any]
    arguments: dict[str, Any] = {}


def serve_test(job: Job) -> Answer:
    """Return the source of the test."""
    server = job.server
    call = job.read(SavedCall, "a call and its result")
    if find_revision(call.revision) is None:
        raise RefusedError(400, f"There is no revision {call.revision!r}")
    nodes, depth = measure([call.arguments, call.result], _MAX_NODES)
    if nodes > _MAX_NODES or depth > _MAX_DEPTH:
        raise RefusedError(413, "The call is too large for a test, or nested too deeply")
    source = write_test(call, server)
    name = f"{_test_name(call)}.py"
    return Answer(source.encode(), "text/x-python; charset=utf-8", name)


def write_test(call: SavedCall, server: ServerFacts) -> str:
    """The source of a test; it reaches the server by its file or command, else by its URL."""
    target: Any = server.file or list(server.command) or server.url
    needs_token = target == server.url and server.has_keys
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
