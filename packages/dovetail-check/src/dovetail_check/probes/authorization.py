"""basic/authorization: how a guarded server treats strangers, and where it sends them.

Everything here goes without the headers that were given for the check, on lines of its own, so
that credentials reach nobody but the server they are meant for. Documents are fetched from the
audited server and from the authorization servers that it names, with GET, and are not long.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from dovetail.wire import codec
from dovetail_check.challenges import read_challenges
from dovetail_check.doors import document_of, is_let_in, servers_named_in
from dovetail_check.exchanges import Exchange
from dovetail_check.inventory import by_id
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.lines.line import Outgoing
from dovetail_check.personas import CLIENT_INFO
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probe_sessions import DOOR
from dovetail_check.probing import Order, probe
from dovetail_check.safety import is_loopback
from dovetail_check.well_known import (
    is_same_origin,
    may_fetch,
    origin_of,
    resource_metadata_urls,
    server_metadata_urls,
)

__all__: list[str] = []

NO_TOKEN = "dovetail-check-no-such-token"
# Headers that say Bearer and are none of it: no token, and more than one.
MALFORMED = ("Bearer", "Bearer dovetail check")
# Paths of a server that is its own authorization server and serves no metadata.
DEFAULTS = ("/authorize", "/token", "/register")
# How long a document may be, and how many authorization servers are asked for one.
MOST_BYTES = 1 << 20
MOST_SERVERS = 2
# Far enough away: the beginning of the year 2100.
_EXPIRY = 4102444800


@probe("authorization", order=Order.ROUGH, transports=("http",), at_door=True)
async def come_as_a_stranger(client: ProbeClient) -> None:
    """none, again: without credentials. token/opaque, token/unsigned, token/forged: made-up ones.

    malformed: a header that cannot be read. query: a token in the URL. session, notification,
    get, later: without credentials in the middle of a conversation that has them.
    resource-metadata, server-metadata: the documents. base-metadata, base-elsewhere,
    base-endpoint: those of a server that is its own authorization server.
    """
    line = client.line
    if not isinstance(line, HttpLine) or not _is_at("auth.optional", client):
        return
    if client.opening is not None and not line.given:
        # The conversation itself is that of a stranger.
        return
    async with _Door(client, line) as door:
        await door.try_everything()


def _is_at(row: str, client: ProbeClient) -> bool:
    """Whether the page of a row is part of the revision."""
    return client.revision in by_id()[row].revisions


class _Door:
    """A client without credentials."""

    def __init__(self, inside: ProbeClient, line: HttpLine) -> None:
        self._inside = inside
        self._given = line.given
        self._url = line.url
        self._line = HttpLine(line.place._replace(line=DOOR), line.url, keeps=_keeps(line.url))
        # Authorization servers have a line of their own: that they are gone says nothing of us.
        elsewhere = line.place._replace(line=f"{DOOR} elsewhere")
        self._elsewhere = HttpLine(elsewhere, line.url, keeps=_keeps(line.url))
        self._talk = ProbeClient(inside.at, self._line)
        self._talk.probe = inside.probe

    async def __aenter__(self) -> _Door:
        await self._line.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self._line.close(), self._elsewhere.close())

    async def try_everything(self) -> None:
        refusal = await self._open("none")
        if refusal.status is None:
            return
        if is_let_in(refusal):
            await self._leave(refusal)
            return
        await asyncio.gather(
            self._open("again"),
            self._open("token/opaque", f"Bearer {NO_TOKEN}"),
            *(self._open("malformed", header) for header in MALFORMED),
            self._open("query", url=self._with_token_in_query()),
            self._interrupt(),
        )
        issuers = await self._read_metadata(refusal)
        issuer = issuers[0] if issuers else origin_of(self._url)
        await asyncio.gather(
            self._open("token/unsigned", f"Bearer {_jwt('none', issuer, self._url)}"),
            self._open("token/forged", f"Bearer {_jwt('RS256', issuer, self._url)}"),
            *(self._read_server_metadata(issuer) for issuer in issuers),
        )
        if _is_at("auth.b.metadata", self._talk):
            await self._read_base()

    # -- requests ------------------------------------------------------------------------------

    async def _open(self, variant: str, header: str | None = None, url: str = "") -> Exchange:
        """The request that opens a conversation."""
        client = self._talk
        method, params = "server/discover", {}
        if not client.is_modern:
            method, params = "initialize", _hello(client)
        message = {"jsonrpc": "2.0", "id": client.new_id(), "method": method}
        message |= client.params_of(params)
        headers = client.headers_for(method, params, {"Authorization": header})
        return await self._post(variant, message, headers, url)

    async def _post(
        self, variant: str, message: Any, headers: Mapping[str, str | None], url: str = ""
    ) -> Exchange:
        data = codec.encode(message)
        return await self._talk.fetch(
            "POST", url=url or None, headers=headers, variant=variant, data=data
        )

    async def _leave(self, opened: Exchange) -> None:
        """End a session that nobody needs."""
        session = opened.header("mcp-session-id")
        if session is not None and session.isascii() and session.isprintable():
            await self._talk.fetch("DELETE", headers={"Mcp-Session-Id": session}, variant="leave")

    def _with_token_in_query(self) -> str:
        """The URL with a token; a real one only on this machine, because URLs are written down."""
        given = {name.lower(): value for name, value in self._given.items()}
        scheme, _, token = given.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not is_loopback(self._url):
            token = NO_TOKEN
        return f"{self._url}{'&' if '?' in self._url else '?'}access_token={token.strip()}"

    async def _interrupt(self) -> None:
        """What a client sends later on; the rest of the conversation had credentials."""
        inside, client = self._inside, self._talk
        if inside.opening is None:
            return
        if inside.is_modern:
            await client.request("tools/list", variant="later")
            return
        session = {"Mcp-Session-Id": inside.session}
        ping = {"jsonrpc": "2.0", "id": client.new_id(), "method": "ping"}
        cancelled = "notifications/cancelled"
        params = {"requestId": "dovetail-check-no-such-request"}
        notification = {"jsonrpc": "2.0", "method": cancelled, "params": params}
        await asyncio.gather(
            self._post("session", ping, client.headers_for("ping", None, session)),
            self._post(
                "notification", notification, client.headers_for(cancelled, params, session)
            ),
        )
        stream = await client.fetch("GET", headers=session, variant="get", holds=True)
        await self._line.hang_up(stream)

    # -- documents -----------------------------------------------------------------------------

    async def _get(self, line: HttpLine, variant: str, url: str) -> Exchange:
        headers = {"Accept": "application/json", "MCP-Protocol-Version": self._talk.revision.date}
        outgoing = Outgoing(b"", f"{self._talk.probe}/{variant}", verb="GET", headers=headers)
        timeout = self._talk.at.timeout
        return await line.send(outgoing._replace(url=url, timeout=timeout, limit=MOST_BYTES))

    async def _read_metadata(self, refusal: Exchange) -> list[str]:
        """The authorization servers that are named in the document that clients take."""
        challenges = read_challenges(refusal.header("www-authenticate"))
        named = [challenge.params.get("resource_metadata", "") for challenge in challenges]
        places = dict.fromkeys((*named, *resource_metadata_urls(self._url)))
        allowed = [
            url for url in places if is_same_origin(url, self._url) and may_fetch(url, self._url)
        ]
        fetched = await asyncio.gather(
            *(self._get(self._line, "resource-metadata", url) for url in allowed)
        )
        documents = [one for one in fetched if document_of(one) is not None]
        servers = [server for one in documents[:1] for server in servers_named_in(one)]
        found = [one for one in dict.fromkeys(servers) if may_fetch(one, self._url)]
        return found[:MOST_SERVERS]

    async def _read_server_metadata(self, issuer: str) -> None:
        for url in server_metadata_urls(issuer):
            found = await self._get(self._elsewhere, "server-metadata", url)
            if found.status == 200:
                return

    async def _read_base(self) -> None:
        root = server_metadata_urls(origin_of(self._url))[0]
        found = await self._get(self._line, "base-metadata", root)
        if found.status == 200:
            return
        elsewhere = [url for url in server_metadata_urls(self._url)[:1] if url != root]
        await asyncio.gather(
            *(self._get(self._line, "base-elsewhere", url) for url in elsewhere),
            *(
                self._get(self._line, "base-endpoint", origin_of(self._url) + path)
                for path in DEFAULTS
            ),
        )


def _keeps(url: str) -> bool:
    return not is_loopback(url)


def _hello(client: ProbeClient) -> dict[str, Any]:
    return {
        "protocolVersion": client.revision.date,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }


def _jwt(algorithm: str, issuer: str, audience: str) -> str:
    """A token that says all the right things and that nobody signed."""
    head = {"alg": algorithm, "typ": "at+jwt"}
    claims = {"iss": issuer, "aud": audience, "sub": "dovetail-check", "exp": _EXPIRY}
    signature = b"" if algorithm == "none" else bytes(256)
    return ".".join(map(_base64, (codec.encode(head), codec.encode(claims), signature)))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
