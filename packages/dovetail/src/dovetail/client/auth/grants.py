"""The ways to obtain a token, and those that need no user."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from dovetail.client.auth.client_authentication import ClientKey
from dovetail.client.auth.records import ClientRecord, Tokens
from dovetail.client.auth.registration import Registrar
from dovetail.client.auth.token_endpoint import TokenEndpoint
from dovetail.net.background import resolve
from dovetail.oauth.discovery import Authority
from dovetail.oauth.failures import AuthorizationError
from dovetail.oauth.fetch import AuthFetch

__all__ = [
    "ClientCredentials",
    "EnterpriseManaged",
    "Flow",
    "Grant",
    "Obtained",
    "TokenSource",
    "WorkloadIdentity",
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
