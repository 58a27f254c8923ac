"""The ways to obtain a token.

With a user: the authorization code flow with PKCE (OAuth 2.1) and issuer identification (RFC 9207),
and the device authorization grant (RFC 8628), where the user logs in on another device. Without a
user: client credentials, enterprise-managed authorization and workload identity.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

import msgspec
from msgspec import Struct

from dovetail.client.auth.records import ClientRecord, Tokens
from dovetail.client.auth.registration import Registrar
from dovetail.client.auth.token_endpoint import ClientKey, TokenEndpoint
from dovetail.client.auth.user_agent import LoopbackBrowser, UserAgent, escape_unprintable
from dovetail.errors import AuthorizationError, TokenRefusedError
from dovetail.net.background import resolve
from dovetail.oauth.discovery import Authority
from dovetail.oauth.fetch import AuthFetch

__all__ = [
    "AuthorizationCode",
    "ClientCredentials",
    "DeviceCode",
    "DevicePrompt",
    "EnterpriseManaged",
    "Flow",
    "Grant",
    "Obtained",
    "TokenSource",
    "WorkloadIdentity",
    "make_challenge",
    "show_prompt",
]

# A token of another issuer, or a function that returns one; it may be asynchronous.
TokenSource: TypeAlias = str | Callable[[], str | Awaitable[str]]

_CLIENT_CREDENTIALS = "client_credentials"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
_ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"


@dataclass(frozen=True, slots=True, repr=False)
class Flow:
    """One attempt to obtain a token: the parties, and what is asked for."""

    fetch: AuthFetch
    authority: Authority
    registrar: Registrar
    scopes: tuple[str, ...]
    make_endpoint: Callable[[ClientRecord], TokenEndpoint]

    def form(self, grant_type: str, **fields: str) -> dict[str, str]:
        """The form of a token request, with the resource (RFC 8707) and the scopes."""
        form = {"grant_type": grant_type, **fields, "resource": self.authority.resource}
        if self.scopes:
            form["scope"] = " ".join(self.scopes)
        return form


@dataclass(frozen=True, slots=True, repr=False)
class Obtained:
    """The result of a flow."""

    client: ClientRecord
    tokens: Tokens
    user: dict[str, Any] = field(default_factory=dict)


class Grant(ABC):
    """A way to obtain a token."""

    # Whether the grant needs a user; then it is not used in programs that are not interactive.
    is_interactive: ClassVar[bool] = False
    grant_type: ClassVar[str]

    @abstractmethod
    async def obtain(self, flow: Flow) -> Obtained:
        """Obtain tokens; raises AuthorizationError."""


async def _request(flow: Flow, grants: Sequence[str], form: dict[str, str]) -> Obtained:
    client = await flow.registrar.find(grants)
    tokens, user = await flow.make_endpoint(client).request(form, flow.scopes)
    return Obtained(client, tokens, user)


@dataclass(frozen=True)
class ClientCredentials(Grant):
    """A program that acts for itself (SEP-1046); needs a client id with a secret or a key."""

    grant_type: ClassVar[str] = _CLIENT_CREDENTIALS

    async def obtain(self, flow: Flow) -> Obtained:
        """Request a token with the credentials of the client."""
        return await _request(flow, [self.grant_type], flow.form(self.grant_type))


@dataclass(frozen=True)
class WorkloadIdentity(Grant):
    """A workload whose platform gives it signed tokens (SEP-1933; experimental).

    `assertion` is such a token for the authorization server, or a function that returns one.
    """

    assertion: TokenSource = field(repr=False)
    grant_type: ClassVar[str] = _JWT_BEARER

    async def obtain(self, flow: Flow) -> Obtained:
        """Exchange the workload's token for an access token."""
        form = flow.form(self.grant_type, assertion=await _read_source(self.assertion))
        return await _request(flow, [self.grant_type], form)


@dataclass(frozen=True)
class EnterpriseManaged(Grant):
    """A user whose company decides about access (SEP-990).

    The ID token of the company's identity provider is exchanged there for a grant for the
    authorization server of the MCP server, without a page for the user. `token_endpoint` and
    `client_id` (with `client_secret`, if there is one) are those at the identity provider.
    """

    id_token: TokenSource = field(repr=False)
    token_endpoint: str
    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    key: ClientKey | None = field(default=None, repr=False)
    grant_type: ClassVar[str] = _JWT_BEARER

    async def obtain(self, flow: Flow) -> Obtained:
        """Obtain a grant from the identity provider, then a token for it."""
        grant = await self._exchange(flow)
        form = flow.form(self.grant_type, assertion=grant)
        return await _request(flow, [self.grant_type], form)

    async def _exchange(self, flow: Flow) -> str:
        form = flow.form(
            _TOKEN_EXCHANGE,
            requested_token_type=_ID_JAG,
            audience=flow.authority.server.issuer,
            subject_token=await _read_source(self.id_token),
            subject_token_type=_ID_TOKEN,
        )
        # The company's provider may be on a private network; the user named it.
        flow.fetch.policy.trust(self.token_endpoint, "The token endpoint of the identity provider")
        client = ClientRecord(client_id=self.client_id, client_secret=self.client_secret)
        provider = TokenEndpoint(
            flow.fetch, self.token_endpoint, self.token_endpoint, client, self.key
        )
        return await provider.exchange(form, _ID_JAG)


async def _read_source(source: TokenSource) -> str:
    token = source if isinstance(source, str) else await resolve(source)
    if not token:
        raise AuthorizationError("The function for the identity token returned nothing")
    return token


_METHOD = "S256"
_OFFLINE = "offline_access"
_SHOWN = 200
# What to do about an error code of the authorization page (RFC 6749, section 4.1.2.1).
_ADVICE = {
    "access_denied": "the login was declined; log in again if that was a mistake",
    "invalid_scope": "ask for other scopes",
    "unauthorized_client": "ask the operator to allow this client",
    "invalid_target": "the server's address is unknown there; ask the operator to register it",
    "server_error": "try again later",
    "temporarily_unavailable": "try again later",
}


def make_challenge(verifier: str) -> str:
    """The S256 code challenge of a verifier (RFC 7636)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(frozen=True)
class AuthorizationCode(Grant):
    """A user who logs in on a page of the authorization server."""

    user_agent: UserAgent = field(default_factory=LoopbackBrowser)
    is_interactive: ClassVar[bool] = True
    grant_type: ClassVar[str] = "authorization_code"

    async def obtain(self, flow: Flow) -> Obtained:
        """Let the user log in, and exchange the code for tokens."""
        authority = flow.authority
        page = _check_support(authority)
        async with self.user_agent.open(flow.registrar.known_redirect()) as redirect:
            client = await flow.registrar.find([self.grant_type], redirect.uri)
            verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
            scopes = _add_offline_access(authority, flow.scopes)
            query = {
                "response_type": "code",
                "client_id": client.client_id,
                "redirect_uri": redirect.uri,
                "state": state,
                "code_challenge": make_challenge(verifier),
                "code_challenge_method": _METHOD,
                "resource": authority.resource,
            }
            if scopes:
                query["scope"] = " ".join(scopes)
            if _OFFLINE in scopes:
                # OpenID Connect Core, section 11: otherwise the scope may be ignored.
                query["prompt"] = "consent"
            separator = "&" if "?" in page else "?"
            answer = await redirect.visit(f"{page}{separator}{urlencode(query)}")
            code = _read_code(answer, state, authority)
            form = {
                "grant_type": self.grant_type,
                "code": code,
                "redirect_uri": redirect.uri,
                "code_verifier": verifier,
                "resource": authority.resource,
            }
            tokens, user = await flow.make_endpoint(client).request(form, scopes)
        return Obtained(client, tokens, user)


def _check_support(authority: Authority) -> str:
    server = authority.server
    if server.authorization_endpoint is None:
        raise AuthorizationError(
            f"The authorization server {server.issuer} has no page to log in on; "
            "use another way to log in"
        )
    methods = server.code_challenge_methods_supported or []
    # 2025-11-25 basic/authorization: without PKCE a stolen code could be used, so a server that
    # does not offer it is refused.
    if _METHOD not in methods and not authority.is_assumed:
        raise AuthorizationError(
            f"The authorization server {server.issuer} does not offer PKCE with {_METHOD} "
            "(code_challenge_methods_supported), so a login there is not safe; "
            "ask its operator to turn it on"
        )
    return server.authorization_endpoint


def _add_offline_access(authority: Authority, scopes: tuple[str, ...]) -> tuple[str, ...]:
    # SEP-2207: ask for a refresh token where the server lists the scope for it.
    if _OFFLINE in (authority.server.scopes_supported or []) and _OFFLINE not in scopes:
        return (*scopes, _OFFLINE)
    return scopes


def _read_code(answer: str, state: str, authority: Authority) -> str:
    """The code in the redirect; raises AuthorizationError if the redirect is not for us."""
    server = authority.server
    fields = parse_qs(urlsplit(answer).query, keep_blank_values=True)
    repeated = [name for name, values in fields.items() if len(values) > 1]
    if repeated:
        raise AuthorizationError(
            f"The redirect from {server.issuer} repeats {repeated[0][:_SHOWN]!r}; it was ignored"
        )
    found = {name: values[0] for name, values in fields.items()}
    if not hmac.compare_digest(found.get("state", "").encode(), state.encode()):
        raise AuthorizationError(
            "The browser came back with the response to another login (wrong state); it was "
            "ignored. Log in again, and use the page that opens"
        )
    _check_issuer(found.get("iss"), authority)
    if "error" in found:
        code = found["error"][:_SHOWN]
        advice = _ADVICE.get(code, "report this to its operator")
        raise AuthorizationError(
            f"The authorization server {server.issuer} did not grant access: {code!r}; {advice}"
        )
    if not found.get("code"):
        raise AuthorizationError(
            f"The redirect from {server.issuer} has neither a code nor an error; "
            "report this to its operator"
        )
    return found["code"]


def _check_issuer(iss: str | None, authority: Authority) -> None:
    """SEP-2468: the response must come from the server that was asked (mix-up attack)."""
    server = authority.server
    if iss is None:
        if server.authorization_response_iss_parameter_supported:
            raise AuthorizationError(
                f"The redirect does not say that it is from {server.issuer}, which it always "
                "should (missing iss); it was ignored, because it may be an attack"
            )
        return
    # RFC 9207, section 2.4: compared as strings, without normalization.
    if iss != server.issuer:
        raise AuthorizationError(
            f"The redirect is from {iss[:_SHOWN]!r}, and the login was at {server.issuer!r}; "
            "it was ignored, because it may be an attack"
        )


_DEFAULT_INTERVAL = 5.0
_SLOW_DOWN = 5.0
_LONGEST_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class DevicePrompt:
    """What the user needs to log in on another device."""

    url: str
    code: str
    # The address with the code in it, for a QR code; None if the server has none.
    complete_url: str | None = None
    expires_in: float = _LONGEST_SECONDS


def show_prompt(prompt: DevicePrompt) -> None:
    """Write the prompt to stderr."""
    code = escape_unprintable(prompt.code)
    sys.stderr.write(f"Open {prompt.url} on any device and enter the code {code}\n")
    sys.stderr.flush()


class _DeviceResponse(Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None = None
    expires_in: float = _LONGEST_SECONDS
    interval: float = _DEFAULT_INTERVAL


@dataclass(frozen=True)
class DeviceCode(Grant):
    """A user who logs in on another device; `show` gets the address and the code."""

    show: Callable[[DevicePrompt], None] = field(default=show_prompt)
    is_interactive: ClassVar[bool] = True
    grant_type: ClassVar[str] = "urn:ietf:params:oauth:grant-type:device_code"

    async def obtain(self, flow: Flow) -> Obtained:
        """Show the code, and ask for the token until the user has finished."""
        server = flow.authority.server
        if server.device_authorization_endpoint is None:
            raise AuthorizationError(
                f"The authorization server {server.issuer} does not offer the device login; "
                "log in with a browser"
            )
        client = await flow.registrar.find([self.grant_type])
        tokens = flow.make_endpoint(client)
        started = await self._start(flow, server.device_authorization_endpoint, client.client_id)
        self.show(
            DevicePrompt(
                _check_page(flow, started.verification_uri),
                started.user_code,
                started.verification_uri_complete
                and _check_page(flow, started.verification_uri_complete),
                started.expires_in,
            )
        )
        form = {
            "grant_type": self.grant_type,
            "device_code": started.device_code,
            "resource": flow.authority.resource,
        }
        interval = max(started.interval, 0.0)
        deadline = time.monotonic() + min(started.expires_in, _LONGEST_SECONDS)
        while time.monotonic() < deadline:
            await asyncio.sleep(interval)
            try:
                found, user = await tokens.request(form, flow.scopes)
            except TokenRefusedError as error:
                if error.code == "slow_down":
                    interval += _SLOW_DOWN
                elif error.code != "authorization_pending":
                    raise
            else:
                return Obtained(client, found, user)
        raise AuthorizationError(
            f"Nobody finished the login at {server.issuer} in time; log in again"
        )

    async def _start(self, flow: Flow, url: str, client_id: str) -> _DeviceResponse:
        endpoint = flow.fetch.policy.check(url, "The device authorization endpoint")
        form = {"client_id": client_id, "resource": flow.authority.resource}
        if flow.scopes:
            form["scope"] = " ".join(flow.scopes)
        fetched = await flow.fetch.post_form(endpoint, form)
        try:
            if fetched.status != 200:
                raise ValueError
            return msgspec.convert(fetched.json(), _DeviceResponse)
        except (ValueError, msgspec.ValidationError):
            raise AuthorizationError(
                f"{endpoint} did not start a device login ({fetched.reason}); log in with a browser"
            ) from None


def _check_page(flow: Flow, url: str) -> str:
    flow.fetch.policy.check(url, "The address for the user")
    return url
