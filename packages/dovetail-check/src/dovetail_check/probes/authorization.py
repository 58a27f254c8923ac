"""basic/authorization: requests without valid credentials, and metadata documents.

Everything here is sent without the configured headers, on separate connections, so credentials
only reach the audited server. Documents are fetched with GET from the audited server and from the
authorization servers that it names, up to a size limit.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from dovetail.wire import codec
from dovetail_check.auth_traffic import authorization_servers_in, document_of, is_accepted
from dovetail_check.challenges import read_challenges
from dovetail_check.client_profiles import CLIENT_INFO
from dovetail_check.connections.base import Outgoing
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.exchanges import Exchange
from dovetail_check.inventory import by_id
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probe_sessions import PRE_AUTH
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
# Malformed Bearer headers: no token, and more than one.
MALFORMED = ("Bearer", "Bearer dovetail check")
# Default paths of a server that is its own authorization server and has no metadata.
DEFAULTS = ("/authorize", "/token", "/register")
# The maximum size of a document, and the number of authorization servers that are queried.
MAX_BYTES = 1 << 20
MAX_SERVERS = 2
# 2100-01-01.
_EXPIRY = 4102444800


@probe("authorization", order=Order.ROUGH, transports=("http",), pre_auth=True)
async def send_without_credentials(client: ProbeClient) -> None:
    """none, again: no credentials. token/opaque, token/unsigned, token/forged: invalid tokens.

    malformed: a malformed header. query: a token in the URL. session, notification, get, later:
    requests without credentials in a session that was opened with them. resource-metadata,
    server-metadata: the documents. base-metadata, base-elsewhere, base-endpoint: those of a
    server that is its own authorization server; sign-... in revisions without them.
    """
    connection = client.connection
    if not isinstance(connection, HttpConnection) or not _is_at("auth.optional", client):
        return
    if client.opening is not None and not connection.default_headers:
        # The session itself has no credentials.
        return
    async with _Unauthenticated(client, connection) as requests:
        await requests.send_all()


def _is_at(row: str, client: ProbeClient) -> bool:
    """Whether the page of a row is part of the revision."""
    return client.revision in by_id()[row].revisions


class _Unauthenticated:
    """A client without credentials."""

    def __init__(self, inside: ProbeClient, connection: HttpConnection) -> None:
        self._inside = inside
        self._given = connection.default_headers
        self._url = connection.url
        self._connection = HttpConnection(
            connection.recorder._replace(connection=PRE_AUTH),
            connection.url,
            reuse=_reuses(connection.url),
        )
        self._connection.throttle = connection.throttle
        # Authorization servers get a separate connection: their failures are not the server's.
        elsewhere = connection.recorder._replace(connection=f"{PRE_AUTH} elsewhere")
        self._elsewhere = HttpConnection(elsewhere, connection.url, reuse=_reuses(connection.url))
        self._client = ProbeClient(inside.context, self._connection)
        self._client.probe = inside.probe

    async def __aenter__(self) -> _Unauthenticated:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self._connection.close(), self._elsewhere.close())

    async def send_all(self) -> None:
        refusal = await self._open("none")
        if refusal.status is None:
            return
        if is_accepted(refusal):
            await self._leave(refusal)
            return
        await asyncio.gather(
            self._open("again"),
            self._open("token/opaque", f"Bearer {NO_TOKEN}"),
            *(self._open("malformed", header) for header in MALFORMED),
            self._open("query", url=self._with_token_in_query()),
            self._send_later(),
        )
        issuers = await self._read_metadata(refusal)
        issuer = issuers[0] if issuers else origin_of(self._url)
        await asyncio.gather(
            self._open("token/unsigned", f"Bearer {_jwt('none', issuer, self._url)}"),
            self._open("token/forged", f"Bearer {_jwt('RS256', issuer, self._url)}"),
            *(self._read_server_metadata(issuer) for issuer in issuers),
        )
        await self._read_base()

    # -- requests ------------------------------------------------------------------------------

    async def _open(self, variant: str, header: str | None = None, url: str = "") -> Exchange:
        """Send the request that opens a session."""
        client = self._client
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
        return await self._client.fetch(
            "POST", url=url or None, headers=headers, variant=variant, data=data
        )

    async def _leave(self, opened: Exchange) -> None:
        """End a session that is not needed."""
        session = opened.header("mcp-session-id")
        if session is not None and session.isascii() and session.isprintable():
            await self._client.fetch("DELETE", headers={"Mcp-Session-Id": session}, variant="leave")

    def _with_token_in_query(self) -> str:
        """The URL with a token; the real token only on loopback, because URLs are logged."""
        given = {name.lower(): value for name, value in self._given.items()}
        scheme, _, token = given.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not is_loopback(self._url):
            token = NO_TOKEN
        return f"{self._url}{'&' if '?' in self._url else '?'}access_token={token.strip()}"

    async def _send_later(self) -> None:
        """Send requests without credentials in a session that was opened with them."""
        inside, client = self._inside, self._client
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
        stream = await client.fetch("GET", headers=session, variant="get", keep_open=True)
        await self._connection.close_response(stream)

    # -- documents -----------------------------------------------------------------------------

    async def _get(self, connection: HttpConnection, variant: str, url: str) -> Exchange:
        headers = {"Accept": "application/json", "MCP-Protocol-Version": self._client.revision.date}
        outgoing = Outgoing(b"", f"{self._client.probe}/{variant}", verb="GET", headers=headers)
        timeout = self._client.context.timeout
        return await connection.send(outgoing._replace(url=url, timeout=timeout, limit=MAX_BYTES))

    async def _read_metadata(self, refusal: Exchange) -> list[str]:
        """The authorization servers named in the first resource metadata document."""
        challenges = read_challenges(refusal.header("www-authenticate"))
        named = [challenge.params.get("resource_metadata", "") for challenge in challenges]
        places = dict.fromkeys((*named, *resource_metadata_urls(self._url)))
        allowed = [
            url for url in places if is_same_origin(url, self._url) and may_fetch(url, self._url)
        ]
        fetched = await asyncio.gather(
            *(self._get(self._connection, "resource-metadata", url) for url in allowed)
        )
        documents = [one for one in fetched if document_of(one) is not None]
        servers = [server for one in documents[:1] for server in authorization_servers_in(one)]
        found = [one for one in dict.fromkeys(servers) if may_fetch(one, self._url)]
        return found[:MAX_SERVERS]

    async def _read_server_metadata(self, issuer: str) -> None:
        for url in server_metadata_urls(issuer):
            found = await self._get(self._elsewhere, "server-metadata", url)
            if found.status == 200:
                return

    async def _read_base(self) -> None:
        # Revisions without these rows need the requests only to see whether the server uses OAuth.
        base = "base" if _is_at("auth.b.metadata", self._client) else "sign"
        root = server_metadata_urls(origin_of(self._url))[0]
        found = await self._get(self._connection, f"{base}-metadata", root)
        if found.status == 200:
            return
        elsewhere = [url for url in server_metadata_urls(self._url)[:1] if url != root]
        await asyncio.gather(
            *(self._get(self._connection, f"{base}-elsewhere", url) for url in elsewhere),
            *(
                self._get(self._connection, f"{base}-endpoint", origin_of(self._url) + path)
                for path in DEFAULTS
            ),
        )


def _reuses(url: str) -> bool:
    return not is_loopback(url)


def _hello(client: ProbeClient) -> dict[str, Any]:
    return {
        "protocolVersion": client.revision.date,
        "capabilities": {},
        "clientInfo": CLIENT_INFO,
    }


def _jwt(algorithm: str, issuer: str, audience: str) -> str:
    """A token with valid claims and no valid signature."""
    head = {"alg": algorithm, "typ": "at+jwt"}
    claims = {"iss": issuer, "aud": audience, "sub": "dovetail-check", "exp": _EXPIRY}
    signature = b"" if algorithm == "none" else bytes(256)
    return ".".join(map(_base64, (codec.encode(head), codec.encode(claims), signature)))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
