"""`GET api/config`: the servers on the page, and what the console can do with them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import quote

from dovetail.spec import keys
from dovetail.spec.revisions import REVISIONS, Family, Revision
from dovetail.transports import HttpRequest
from dovetail.wire import codec
from dovetail_console.requests import ConsoleServer, ConsoleSite, public_url
from dovetail_console.workers import ServerFacts

__all__ = [
    "INSTALL_CHECK",
    "Snippet",
    "describe_facts",
    "describe_guard",
    "describe_site",
    "describe_traits",
    "find_resource",
    "has_check",
    "make_snippets",
]


def describe_traits(revision: Revision, version: str) -> dict[str, Any]:
    """The differences that matter to the page, and what its messages must have.

    `hello` are the params of `initialize`, `meta` is the `_meta` of modern requests, and `taskMeta`
    that of requests that may become tasks.
    """
    info = {"name": "dovetail-console", "version": version}
    capabilities = _describe_capabilities(revision)
    is_modern = revision.family is Family.MODERN
    meta = {
        keys.PROTOCOL_VERSION: revision.date,
        keys.CLIENT_INFO: info,
        keys.CLIENT_CAPABILITIES: capabilities,
        keys.LOG_LEVEL: "debug",
    }
    with_tasks = {**capabilities, "extensions": {keys.TASKS: {}}}
    return {
        "modern": is_modern,
        "tasks": revision.tasks,
        "elicitation": revision.elicitation,
        "completions": revision.completions_capability,
        "hello": {
            "protocolVersion": revision.date,
            "capabilities": capabilities,
            "clientInfo": info,
        },
        "meta": meta if is_modern else {},
        "taskMeta": {**meta, keys.CLIENT_CAPABILITIES: with_tasks} if is_modern else {},
    }


def _describe_capabilities(revision: Revision) -> dict[str, Any]:
    """Everything that the page can ask its user."""
    found: dict[str, Any] = {
        "roots": {},
        "sampling": {"tools": {}} if revision.sampling_tools else {},
    }
    if revision.elicitation:
        found["elicitation"] = {"form": {}, "url": {}} if revision.url_elicitation else {}
    return found


_KEY = "YOUR_KEY"


class Snippet(NamedTuple):
    """A text for one client."""

    name: str
    text: str


def make_snippets(
    name: str, url: str, command: Sequence[str], key_header: str | None
) -> list[Snippet]:
    """The texts for a server.

    `url` is empty if it has none, and `command`, which starts it on stdio, if that is not known.
    `key_header`: the header for an API key, if the server needs one.
    """
    if not url:
        return _make_stdio_snippets(name, command)
    bearer = "Bearer " if key_header == "Authorization" else ""
    headers = {} if key_header is None else {key_header: f"{bearer}{_KEY}"}
    more: dict[str, Any] = {"headers": headers} if headers else {}
    lines = [f"{header}: {value}" for header, value in headers.items()]
    add = ["claude", "mcp", "add", "--transport", "http", name, url]
    for line in lines:
        add += ["--header", line]
    # Claude Desktop starts servers itself; mcp-remote is such a server for a URL.
    remote = ["npx", "-y", "mcp-remote", url]
    for line in lines:
        remote += ["--header", line]
    program, *arguments = command or remote
    call = ["dovetail", "list", url]
    for line in lines:
        call += ["-H", line]
    return [
        Snippet("Claude Code", shlex.join(add)),
        Snippet(
            "Claude Desktop", _entry("mcpServers", name, {"command": program, "args": arguments})
        ),
        Snippet("mcp.json", _entry("mcpServers", name, {"type": "http", "url": url, **more})),
        Snippet("Cursor", _entry("mcpServers", name, {"url": url, **more})),
        Snippet("VS Code", _entry("servers", name, {"type": "http", "url": url, **more})),
        Snippet("dovetail", shlex.join(call)),
    ]


def _make_stdio_snippets(name: str, command: Sequence[str]) -> list[Snippet]:
    settings = {"command": command[0], "args": list(command[1:])}
    add = ["claude", "mcp", "add", name, "--", *command]
    return [
        Snippet("Claude Code", shlex.join(add)),
        Snippet("Claude Desktop", _entry("mcpServers", name, settings)),
        Snippet("mcp.json", _entry("mcpServers", name, settings)),
        Snippet("Cursor", _entry("mcpServers", name, settings)),
        Snippet("VS Code", _entry("servers", name, {"type": "stdio", **settings})),
        Snippet("dovetail", shlex.join(["dovetail", "list", "--", *command])),
    ]


def _entry(member: str, name: str, settings: dict[str, Any]) -> str:
    return json.dumps({member: {name: settings}}, indent=2, ensure_ascii=False)


INSTALL_CHECK = "pip install dovetail-check"
_METADATA = "/.well-known/oauth-protected-resource"


def describe_site(site: ConsoleSite, request: HttpRequest) -> dict[str, Any]:
    """The configuration of the page."""
    return {
        "version": version("dovetail-mcp"),
        "mode": site.mode,
        "servers": [_describe_server(server, request) for server in site.servers],
        "watch": site.traffic is not None,
        "check": True if has_check() else INSTALL_CHECK,
        "revisions": [revision.date for revision in reversed(REVISIONS)],
        "traits": {each.date: describe_traits(each, version("dovetail-mcp")) for each in REVISIONS},
        "confirm": True,
        # The page reads everything again if it changes; workers would change it all the time.
        "process": None if site.is_shared else site.process,
    }


def has_check() -> bool:
    """Whether dovetail-check is installed."""
    return find_spec("dovetail_check") is not None


def _describe_server(server: ConsoleServer, request: HttpRequest) -> dict[str, Any]:
    url = public_url(request, server.path) if server.url is None else server.url
    guard = describe_guard(server)
    return {
        "name": server.name,
        "title": server.app.info.title or server.name,
        "version": server.app.info.version,
        "endpoint": _path(server.path),
        "endpoints": {date: _path(path) for date, path in server.endpoints.items()},
        "guard": guard,
        "target": server.target or url,
        "clients": [
            each._asdict()
            for each in make_snippets(
                server.app.info.name,
                # A client uses the target itself, not the page's way to it.
                url,
                server.command,
                guard["key_header"] if guard["keys"] else None,
            )
        ],
    }


def describe_facts(server: ConsoleServer, request: HttpRequest) -> ServerFacts:
    """What a worker has to know of a server."""
    url = server.url or public_url(request, server.path)
    return ServerFacts(
        name=server.name,
        url=url,
        target=server.target or url,
        file=server.file,
        command=server.command,
        has_keys=describe_guard(server)["keys"],
        is_remote=bool(server.url),
    )


def _path(path: str) -> str:
    """The path of an endpoint from the page, which is one level below the mount point."""
    return f"..{quote(path)}"


def describe_guard(server: ConsoleServer) -> dict[str, Any]:
    """Which credentials the server takes."""
    auth = server.app.auth
    names = [] if auth is None else [name.decode("latin-1") for name in auth.credential_headers]
    own = sorted(name for name in names if name not in ("authorization", "dpop"))
    return {
        # A guard with OAuth alone takes tokens in the same header, so the field is of use too.
        "keys": bool(names),
        "key_header": own[0].title() if own else "Authorization",
        "oauth": server.sign_in is not None or find_resource(server) is not None,
    }


def find_resource(server: ConsoleServer) -> str | None:
    """The URL that access tokens for the server are made for; None without OAuth."""
    auth = server.app.auth
    page = None if auth is None else auth.page(_METADATA, server.app.path)
    if page is None:
        return None
    resource = codec.decode_json(page.body).get("resource")
    return resource if isinstance(resource, str) else None
