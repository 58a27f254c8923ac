"""An MCP server and its authorization server on the test's event loop; tests change what they do.

`pages` maps a path to a function that answers requests to it, `metadata` and `resource` are the
documents that are served, `asked` is everything that arrived.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

import httpx

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationCode,
    MemoryStore,
    OAuth,
    Redirect,
    UserAgent,
)
from dovetail.client.auth.grants import make_challenge
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, INITIALIZED

RESOURCE_PATH = "/.well-known/oauth-protected-resource/mcp"
SERVER_PATH = "/.well-known/oauth-authorization-server"


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body or b"{}")
        return found

    @property
    def basic(self) -> tuple[str, str]:
        scheme, _, pair = self.headers["authorization"].partition(" ")
        assert scheme == "Basic"
        user, _, password = base64.b64decode(pair).decode().partition(":")
        return unquote(user), unquote(password)


@dataclass(frozen=True)
class Reply:
    """One response; `document` is sent as JSON unless `body` is given."""

    status: int = 200
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None

    def encode(self) -> bytes:
        body = json.dumps(self.document).encode() if self.body is None else self.body
        kind = "application/json" if self.body is None else "text/html"
        fields = {"Content-Type": kind, "Content-Length": str(len(body)), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {self.status} X\r\n{head}\r\n".encode() + body


Page = Callable[[Asked], Reply | Awaitable[Reply]]


class FakeAuthority:
    """The two servers; `url` is the MCP endpoint."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.url = f"{origin}/mcp"
        self.asked: list[Asked] = []
        self.resource: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [origin],
        }
        self.metadata: dict[str, Any] = {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "revocation_endpoint": f"{origin}/revoke",
            "device_authorization_endpoint": f"{origin}/device",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }
        self.challenge = f'Bearer resource_metadata="{origin}{RESOURCE_PATH}"'
        # Scopes that a call needs, and those that the authorization server grants.
        self.needed: set[str] = set()
        self.grants: Callable[[list[str]], list[str]] = lambda scopes: scopes
        # token -> its scopes
        self.tokens: dict[str, list[str]] = {}
        self.expires_in: float | None = 3600
        self.gives_refresh = True
        # Codes and the challenges that they are bound to; scopes of the login.
        self.codes: dict[str, tuple[str, list[str]]] = {}
        self.refresh_tokens: dict[str, list[str]] = {}
        self.prefix = "token"
        self._number = 0
        self.pages: dict[str, Page] = {
            RESOURCE_PATH: lambda _: Reply(document=self.resource),
            SERVER_PATH: lambda _: Reply(document=self.metadata),
            "/authorize": self.authorize,
            "/token": self.token,
            "/register": self.register,
            "/revoke": self.revoke,
            "/mcp": self.mcp,
        }

    def count(self, path: str) -> int:
        return len([asked for asked in self.asked if asked.path == path])

    def forms(self, grant: str) -> list[dict[str, str]]:
        return [
            asked.form
            for asked in self.asked
            if asked.path == "/token" and asked.form["grant_type"] == grant
        ]

    def make(self, what: str) -> str:
        self._number += 1
        return f"{self.prefix}-{what}-{self._number}"

    async def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        page = self.pages.get(asked.path)
        if page is None:
            return Reply(404, {})
        reply = page(asked)
        return await reply if isawaitable(reply) else reply

    # -- the authorization server -------------------------------------------------------------

    def authorize(self, asked: Asked) -> Reply:
        code = self.make("code")
        scopes = self.grants(asked.query.get("scope", "").split())
        self.codes[code] = (asked.query["code_challenge"], scopes)
        query = {"code": code, "state": asked.query["state"], "iss": self.metadata["issuer"]}
        return Reply(302, headers={"Location": f"{asked.query['redirect_uri']}?{urlencode(query)}"})

    def token(self, asked: Asked) -> Reply:
        form = asked.form
        match form["grant_type"]:
            case "authorization_code":
                challenge, scopes = self.codes.pop(form["code"], ("", []))
                if make_challenge(form["code_verifier"]) != challenge:
                    return Reply(400, {"error": "invalid_grant"})
            case "refresh_token":
                if form["refresh_token"] not in self.refresh_tokens:
                    return Reply(400, {"error": "invalid_grant"})
                scopes = self.refresh_tokens.pop(form["refresh_token"])
            case _:
                scopes = self.grants(form.get("scope", "").split())
        return Reply(document=self.issue(scopes))

    def issue(self, scopes: list[str]) -> dict[str, Any]:
        token = self.make("access")
        self.tokens[token] = scopes
        issued: dict[str, Any] = {
            "access_token": token,
            "token_type": "bearer",
            "scope": " ".join(scopes),
        }
        if self.expires_in is not None:
            issued["expires_in"] = self.expires_in
        if self.gives_refresh:
            issued["refresh_token"] = self.make("refresh")
            self.refresh_tokens[issued["refresh_token"]] = scopes
        return issued

    def register(self, asked: Asked) -> Reply:
        return Reply(201, {"client_id": self.make("client"), "token_endpoint_auth_method": "none"})

    def revoke(self, asked: Asked) -> Reply:
        self.tokens.pop(asked.form["token"], None)
        self.refresh_tokens.pop(asked.form["token"], None)
        return Reply(200, {})

    # -- the MCP server -----------------------------------------------------------------------

    def mcp(self, asked: Asked) -> Reply:
        scheme, _, token = asked.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token not in self.tokens:
            return Reply(401, {}, {"WWW-Authenticate": self.challenge})
        method = asked.json.get("method")
        if method == "tools/call" and not self.needed <= set(self.tokens[token]):
            wanted = " ".join(sorted(self.needed))
            where = f'resource_metadata="{self.origin}{RESOURCE_PATH}"'
            header = f'Bearer error="insufficient_scope", scope="{wanted}", {where}'
            return Reply(403, {}, {"WWW-Authenticate": header})
        results: Mapping[Any, Any] = {
            "server/discover": DISCOVERED,
            "initialize": INITIALIZED,
            "tools/call": {
                "resultType": "complete",
                "content": [{"type": "text", "text": "done"}],
            },
        }
        if "id" not in asked.json:
            return Reply(202, body=b"")
        if method not in results:
            return Reply(405, body=b"")
        return Reply(document={"jsonrpc": "2.0", "id": asked.json["id"], "result": results[method]})


@asynccontextmanager
async def fake_authority(host: str = "127.0.0.1") -> AsyncIterator[FakeAuthority]:
    fake: FakeAuthority
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while (asked := await _read(reader)) is not None:
                writer.write((await fake.answer(asked)).encode())
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    listener = await asyncio.start_server(connected, host, 0)
    fake = FakeAuthority(f"http://{host}:{listener.sockets[0].getsockname()[1]}")
    try:
        yield fake
    finally:
        listener.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    return Asked(method, parts.path, query, headers, body)


# -- the user -----------------------------------------------------------------------------------


class Visitor(UserAgent):
    """A user who agrees to everything; `rewrite` changes the redirect, as an attacker would."""

    def __init__(self, rewrite: Callable[[str], str] = lambda url: url) -> None:
        self.visited: list[str] = []
        self._rewrite = rewrite

    @asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        yield _Visit(self, preferred)

    async def come_back(self, url: str) -> str:
        self.visited.append(url)
        async with httpx.AsyncClient(timeout=CAP, verify=False) as browser:
            answer = await browser.get(url)
        return self._rewrite(answer.headers["location"])

    def query(self, number: int = -1) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.visited[number]).query))


class _Visit(Redirect):
    def __init__(self, visitor: Visitor, preferred: str | None) -> None:
        self.uri = preferred or "http://127.0.0.1:9/callback"
        self._visitor = visitor

    async def visit(self, url: str) -> str:
        return await self._visitor.come_back(url)


def make_auth(visitor: Visitor | None = None, **options: Any) -> OAuth:
    """An OAuth client with a user, which forgets everything."""
    grant = AuthorizationCode(Visitor() if visitor is None else visitor)
    return OAuth(**{"grant": grant, "store": MemoryStore(), **options})


async def call(fake: FakeAuthority, auth: OAuth, mode: str = "modern", times: int = 1) -> str:
    """The text of the last of some calls."""
    text = ""
    async with Client(fake.url, auth=auth, mode=mode, timeout=CAP) as client:
        for _ in range(times):
            text = (await client.call("work")).text
    return text
