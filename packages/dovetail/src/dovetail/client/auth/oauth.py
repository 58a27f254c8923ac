"""`OAuth`: the settings of an authorization, for `Client(url, auth=OAuth(...))`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dovetail.client.auth.authorizer import AuthSettings, OAuthAuthorizer
from dovetail.client.auth.grants import AuthorizationCode, Grant
from dovetail.client.auth.records import LoginRecord, list_servers
from dovetail.client.auth.registration import ClientFacts
from dovetail.client.auth.storage import TokenStore, default_store
from dovetail.client.auth.token_endpoint import ClientKey
from dovetail.errors import UsageError
from dovetail.net.addresses import Endpoint, parse_url
from dovetail.net.http_pool import HttpPool
from dovetail.oauth.challenges import Challenge, find_challenge
from dovetail.oauth.fetch import report_trace

__all__ = ["Login", "OAuth", "find_login", "find_token", "list_logins", "login", "logout"]

# The first request of a client; the answer that matters here is its status and challenge.
_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
_PROBE_HEADERS = (
    ("Accept", "application/json, text/event-stream"),
    ("Accept-Encoding", "identity"),
    ("Content-Type", "application/json"),
)


class OAuth:
    """Obtains and renews access tokens for a server (OAuth 2.1).

    Without arguments, the user logs in with a browser, and the client registers itself where
    that is needed. `client_id` (with `client_secret` or `private_key`) is for a client that the
    operator has registered, `client_metadata_url` for one that publishes its metadata. `grant`
    selects another way to obtain a token. With `interactive=False` the user is never asked:
    `LoginRequiredError` says how to log in. `dpop=True` binds tokens to a key of this client
    (experimental).
    """

    def __init__(  # noqa: PLR0913 - public options, independent of each other
        self,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        private_key: ClientKey | str | None = None,
        client_metadata_url: str | None = None,
        client_name: str = "dovetail",
        issuer: str | None = None,
        scopes: Iterable[str] = (),
        grant: Grant | None = None,
        store: TokenStore | None = None,
        interactive: bool = True,
        dpop: bool = False,
    ) -> None:
        if client_id is None and (client_secret is not None or private_key is not None):
            raise UsageError("client_secret= and private_key= need client_id=")
        if isinstance(scopes, str):
            raise UsageError(f"scopes must be a collection of scopes, got the string {scopes!r}")
        key = ClientKey(private_key) if isinstance(private_key, str) else private_key
        self._facts = ClientFacts(
            client_name, client_id, client_secret, key, client_metadata_url, issuer
        )
        self._grant = AuthorizationCode() if grant is None else grant
        self._scopes = tuple(scopes)
        self._is_interactive = interactive
        self._uses_dpop = dpop
        self._store = store

    def __repr__(self) -> str:
        return f"OAuth(client_id={self._facts.client_id!r}, grant={self._grant!r})"

    @property
    def store(self) -> TokenStore:
        """Where the tokens are stored."""
        if self._store is None:
            self._store = default_store()
        return self._store

    def authorize(self, endpoint: Endpoint) -> OAuthAuthorizer:
        """The authorization at one server; raises UsageError if its URL is not safe for it."""
        settings = AuthSettings(
            self._facts,
            self._grant,
            self.store,
            self._scopes,
            self._is_interactive,
            self._uses_dpop,
        )
        return OAuthAuthorizer(settings, endpoint)


@dataclass(frozen=True, slots=True)
class Login:
    """A login, without its secrets."""

    server: str
    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    # Unix time at which the access token expires; None if the server did not say.
    expires_at: float | None
    # Whether the token can be renewed without the user.
    is_renewable: bool
    # Claims about the user (`sub`, `name`, `email`), if the server sent any.
    user: dict[str, Any]


async def login(url: str, auth: OAuth) -> Login:
    """Log in to a server, whatever is stored; raises AuthorizationError."""
    endpoint = parse_url(url)
    authorizer = auth.authorize(endpoint)
    try:
        challenge, address, is_denied = await _probe(endpoint)
        found = await authorizer.log_in(challenge, address, is_denied=is_denied)
        return _describe(endpoint, found)
    finally:
        await authorizer.close()


async def logout(url: str, auth: OAuth) -> bool | None:
    """Revoke the tokens for a server and delete them.

    Returns None if there was no login, and False if the tokens were deleted but could not be
    revoked.
    """
    authorizer = auth.authorize(parse_url(url))
    try:
        return await authorizer.log_out()
    finally:
        await authorizer.close()


def find_login(url: str, auth: OAuth) -> Login | None:
    """The stored login for a server, if there is one."""
    endpoint = parse_url(url)
    found = auth.authorize(endpoint).login
    return None if found is None else _describe(endpoint, found)


def find_token(url: str, auth: OAuth) -> str | None:
    """The stored access token for a server, if there is one; it may have expired."""
    found = auth.authorize(parse_url(url)).login
    return None if found is None else found.tokens.access_token


def list_logins(auth: OAuth) -> list[str]:
    """The URLs of the servers that have a stored login."""
    return list_servers(auth.store)


def _describe(endpoint: Endpoint, found: LoginRecord) -> Login:
    tokens = found.tokens
    return Login(
        str(endpoint),
        found.issuer,
        found.client.client_id,
        tokens.scopes,
        tokens.expires_at,
        tokens.refresh_token is not None,
        found.user,
    )


async def _probe(endpoint: Endpoint) -> tuple[Challenge, str | None, bool]:
    """The challenge for a client without a token, its address, and whether access is denied."""
    pool = HttpPool(endpoint)
    try:
        report_trace("POST", str(endpoint), _PROBE_HEADERS, _PROBE)
        async with pool.exchange("POST", _PROBE_HEADERS, _PROBE) as response:
            sent = response.headers.items()
            report_trace("POST", str(endpoint), sent, b"", response.status)
            header = response.headers.get("www-authenticate", "")
            is_denied = response.status in (401, 403)
            return find_challenge(header, ("bearer", "dpop")), response.address, is_denied
    finally:
        await pool.close()
