"""Authenticates the requests to one server: sends the token, and answers denials.

A denied request is answered in this order: another process may have renewed the token; a server may
ask for a nonce; the token is renewed; a new one is obtained. A request that lacks a scope gets a
token with more scopes. Each is tried once per request.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.client.auth.grants import Flow, Grant
from dovetail.client.auth.records import ClientRecord, LoginRecord, StoredLogin, Tokens
from dovetail.client.auth.registration import ClientFacts, Registrar
from dovetail.client.auth.storage import TokenStore
from dovetail.client.auth.token_endpoint import TokenEndpoint
from dovetail.client.auth.user_agent import escape_unprintable
from dovetail.client.http_auth import Denial
from dovetail.errors import (
    AuthorizationError,
    LoginRequiredError,
    TokenRefusedError,
)
from dovetail.net.addresses import Endpoint
from dovetail.oauth.challenges import Challenge, find_challenge
from dovetail.oauth.discovery import Authority, discover
from dovetail.oauth.dpop import DpopKey
from dovetail.oauth.fetch import AuthFetch, UrlPolicy, same_url
from dovetail.runtime.deadlines import pause_time_limits

__all__ = ["AuthSettings", "OAuthAuthorizer"]

# A token that expires sooner than this is renewed before it is sent.
_EARLY_SECONDS = 30.0
# Errors after which a refresh token is useless.
_LOST = ("invalid_grant", "invalid_client", "unauthorized_client")


@dataclass(frozen=True, slots=True, repr=False)
class AuthSettings:
    """The settings of an `OAuth` object."""

    client: ClientFacts
    grant: Grant
    store: TokenStore
    scopes: tuple[str, ...]
    is_interactive: bool
    uses_dpop: bool


class OAuthAuthorizer:
    """The authorization of one client at one server."""

    def __init__(self, settings: AuthSettings, server: Endpoint) -> None:
        self._settings = settings
        self._server = server
        self._fetch = AuthFetch(UrlPolicy(server))
        facts = settings.client
        if facts.issuer is not None:
            self._fetch.policy.trust(facts.issuer, "issuer=")
        name = facts.client_id or facts.metadata_url or ""
        # A program's own login must not be taken for that of its user.
        is_shared = settings.grant.is_interactive
        self._stored = StoredLogin(settings.store, str(server), name, is_shared=is_shared)
        self._login: LoginRecord | None = None
        self._is_loaded = False
        self._dpop: DpopKey | None = None
        # One renewal or login at a time.
        self._lock = asyncio.Lock()

    @property
    def login(self) -> LoginRecord | None:
        """The current login."""
        if not self._is_loaded:
            self._adopt(self._stored.load())
        return self._login

    def _adopt(self, login: LoginRecord | None) -> None:
        # A token that is bound to a key needs the key, and a key needs a bound token.
        is_bound = login is not None and login.dpop_key is not None
        self._login = login if is_bound == self._settings.uses_dpop else None
        self._is_loaded = True
        if login is not None and login.server_address is not None:
            self._fetch.policy.note_server(login.server_address)
        before, self._dpop = self._dpop, None
        if self._login is not None and self._login.dpop_key is not None:
            self._dpop = DpopKey(self._login.dpop_key)
            # Nonces belong to the servers, so they outlive a key.
            self._dpop.nonces.update({} if before is None else before.nonces)

    # -- the interface of the connection pool -------------------------------------------------

    async def headers(self, method: str, url: str) -> list[tuple[str, str]]:
        """The headers with the token; none before the first login."""
        login = self.login
        if login is not None and login.tokens.expires_within(_EARLY_SECONDS):
            async with self._lock:
                await self._renew_early()
            login = self._login
        if login is None:
            return []
        tokens = login.tokens
        headers = [("Authorization", _make_header(tokens))]
        if self._dpop is not None:
            now = self._fetch.now(self._server)
            proof = self._dpop.prove(method, url, self._server.origin, now, tokens.access_token)
            headers.append(("DPoP", proof))
        return headers

    async def answer(self, denial: Denial) -> bool:
        """Handle a denied request; True if it is worth sending again."""
        self._fetch.policy.pin_server(denial.response.address)
        header = denial.response.headers.get("www-authenticate", "")
        own, other = ("dpop", "bearer") if self._settings.uses_dpop else ("bearer", "dpop")
        challenge = find_challenge(header, (own, other))
        with pause_time_limits():
            async with self._lock:
                if self._has_changed(denial):
                    return True
                if denial.status == 401:
                    return await self._answer_unauthorized(denial, challenge)
                # Step-up (2025-11-25 basic/authorization).
                if challenge.error == "insufficient_scope":
                    return await self._answer_insufficient(denial, challenge)
                return False

    def secrets(self) -> Sequence[str]:
        """The tokens."""
        if self._login is None:
            return ()
        tokens = self._login.tokens
        return tuple(filter(None, (tokens.access_token, tokens.refresh_token)))

    async def close(self) -> None:
        """Close the connections to the authorization server."""
        await self._fetch.close()

    # -- denials ------------------------------------------------------------------------------

    def _has_changed(self, denial: Denial) -> bool:
        """Whether another request, or another process, has got a new token meanwhile."""
        sent = dict(denial.sent).get("Authorization")
        if self._login is not None and sent != _make_header(self._login.tokens):
            return True
        if "reload" in denial.tried:
            return False
        denial.tried.add("reload")
        stored = self._stored.load()
        if stored is None or sent == _make_header(stored.tokens):
            return False
        self._adopt(stored)
        return self._login is not None

    async def _answer_unauthorized(self, denial: Denial, challenge: Challenge) -> bool:
        nonce = denial.response.headers.get("dpop-nonce")
        if self._dpop is not None and nonce is not None and "nonce" not in denial.tried:
            denial.tried.add("nonce")
            self._dpop.nonces[self._server.origin] = nonce
            if challenge.error == "use_dpop_nonce":
                return True
        authority = await self._discover(challenge)
        login = self._login
        if login is not None and "renew" not in denial.tried:
            denial.tried.add("renew")
            # SEP-2352: if the server has moved to another authorization server, nothing of
            # the old login is sent to the new one.
            if same_url(login.issuer, authority.server.issuer) and await self._renew(login):
                return True
        if "authorize" in denial.tried:
            return False
        denial.tried.add("authorize")
        before = () if login is None else login.requested
        await self.obtain(authority, challenge, before)
        return True

    async def _answer_insufficient(self, denial: Denial, challenge: Challenge) -> bool:
        needed, login = set(challenge.scopes), self._login
        if login is None or not needed or "step-up" in denial.tried:
            return False
        if needed <= set(login.tokens.scopes):
            # The token has them: another one would not help.
            return False
        denial.tried.add("step-up")
        authority = await self._discover(challenge)
        # SEP-2350: what was granted before is asked for again.
        before = (*login.requested, *login.tokens.scopes)
        obtained = await self.obtain(authority, challenge, before)
        missing = needed - set(obtained.tokens.scopes)
        if missing:
            raise AuthorizationError(
                f"{self._server} needs the scope {' '.join(sorted(missing))}, which "
                f"{obtained.issuer} did not grant; ask its operator for access"
            )
        return True

    async def _discover(self, challenge: Challenge, *, is_denied: bool = True) -> Authority:
        known = None if self._login is None else self._login.issuer
        preferred = self._settings.client.issuer or known
        return await discover(self._fetch, self._server, challenge, preferred, is_denied=is_denied)

    # -- tokens -------------------------------------------------------------------------------

    async def obtain(
        self, authority: Authority, challenge: Challenge, before: Sequence[str] = ()
    ) -> LoginRecord:
        """Obtain a new token, with the help of the user if the grant needs it."""
        settings = self._settings
        self._check_issuer(authority)
        scopes = _choose_scopes(settings.scopes, before, challenge, authority)
        if settings.grant.is_interactive and not settings.is_interactive:
            if authority.is_assumed:
                raise LoginRequiredError(
                    f"{self._server} needs a key or a token, and names no authorization server "
                    "to log in at; send the key that its operator gave you"
                )
            # The server chose the scopes, and the user may paste the command into a shell.
            command = ["dovetail", "login", str(self._server)]
            if before and scopes:
                command += ["--scope", escape_unprintable(" ".join(scopes))]
            raise LoginRequiredError(
                f"{self._server} asks for a login at {authority.server.issuer}; "
                f"run: {shlex.join(command)}"
            )
        dpop = DpopKey() if settings.uses_dpop else None
        registrar = Registrar(
            self._fetch,
            settings.store,
            authority.server,
            settings.client,
            is_assumed=authority.is_assumed,
        )
        server = authority.server

        def make_endpoint(client: ClientRecord) -> TokenEndpoint:
            methods = server.token_endpoint_auth_methods_supported
            return TokenEndpoint(
                self._fetch,
                server.token_endpoint,
                server.issuer,
                client,
                settings.client.key,
                methods,
                dpop,
            )

        flow = Flow(self._fetch, authority, registrar, scopes, make_endpoint)
        try:
            obtained = await settings.grant.obtain(flow)
        except TokenRefusedError as error:
            if error.code == "invalid_client":
                # The next attempt registers again.
                registrar.forget()
            raise
        login = LoginRecord(
            issuer=server.issuer,
            resource=authority.resource,
            client=obtained.client,
            tokens=obtained.tokens,
            requested=scopes,
            token_endpoint=server.token_endpoint,
            revocation_endpoint=server.revocation_endpoint,
            auth_methods=_as_tuple(server.token_endpoint_auth_methods_supported),
            dpop_key=None if dpop is None else dpop.to_pem(),
            server_address=self._fetch.policy.server_address,
            user=obtained.user,
        )
        self._stored.save(login)
        self._dpop = dpop
        self._adopt(login)
        return login

    def _check_issuer(self, authority: Authority) -> None:
        """Refuse to send credentials to an authorization server that they are not for."""
        facts, issuer = self._settings.client, authority.server.issuer
        if facts.issuer is not None:
            known: str | None = facts.issuer
        elif facts.client_secret is not None:
            known = self._stored.issuer()
        else:
            known = None
        if known is not None and not same_url(known, issuer):
            raise AuthorizationError(
                f"{self._server} now names the authorization server {issuer}, and the "
                f"credentials of this client are for {known}; nothing was sent. If the move is "
                "intended, log out and pass the credentials for the new one"
            )

    async def _renew_early(self) -> None:
        """Renew a token that expires; a failure matters only once it has expired."""
        login = self._login
        if login is None or not login.tokens.expires_within(_EARLY_SECONDS):
            return
        try:
            is_renewed = await self._renew(login)
        except AuthorizationError:
            if login.tokens.expires_within(0):
                raise
            return
        if not is_renewed and login.tokens.expires_within(0):
            # Without a token the server sends a challenge, which begins a login.
            self._login = None

    async def _renew(self, login: LoginRecord) -> bool:
        """Renew a login with its refresh token; False if that is not possible."""
        async with self._stored.lock(login):
            stored = self._stored.load()
            if stored is None:
                # Logged out by another process.
                return False
            if stored.tokens.access_token != login.tokens.access_token:
                self._adopt(stored)
                return self._login is not None
            if stored.tokens.refresh_token is None:
                return False
            return await self._refresh(stored)

    async def _refresh(self, login: LoginRecord) -> bool:
        form = {
            "grant_type": "refresh_token",
            "refresh_token": login.tokens.refresh_token or "",
            "resource": login.resource,
        }
        try:
            tokens, _ = await self.make_endpoint(login).request(
                form, login.tokens.scopes, previous=login.tokens
            )
        except TokenRefusedError as error:
            if error.code not in _LOST:
                raise
            # The registration stays: the next login needs it, and replaces it if it is lost.
            self._stored.delete(login)
            return False
        login.tokens = tokens
        self._stored.save(login)
        self._adopt(login)
        return True

    def make_endpoint(self, login: LoginRecord) -> TokenEndpoint:
        """The token endpoint of a stored login, which needs no discovery."""
        return TokenEndpoint(
            self._fetch,
            login.token_endpoint,
            login.issuer,
            login.client,
            self._settings.client.key,
            login.auth_methods,
            self._dpop,
        )

    # -- the command line ---------------------------------------------------------------------

    async def log_in(
        self, challenge: Challenge, address: str | None, *, is_denied: bool
    ) -> LoginRecord:
        """Obtain a new token, whatever is stored; `is_denied` if the server asked for one.

        `address` is the one that the server has answered from.
        """
        self._fetch.policy.pin_server(address)
        async with self._lock:
            authority = await self._discover(challenge, is_denied=is_denied)
            return await self.obtain(authority, challenge)

    async def log_out(self) -> bool | None:
        """Revoke and delete the login; None if there is none, False if only deleted."""
        login = self.login
        if login is None:
            return None
        async with self._stored.lock(login):
            is_revoked = login.revocation_endpoint is not None and await self.make_endpoint(
                login
            ).revoke(login.revocation_endpoint, login.tokens)
            self._stored.delete(login)
        self._adopt(None)
        return is_revoked


def _choose_scopes(
    own: Sequence[str], before: Sequence[str], challenge: Challenge, authority: Authority
) -> tuple[str, ...]:
    """The scopes to ask for (2025-11-25 basic/authorization, scope selection)."""
    # The challenge decides; the resource's list is for servers whose challenge names none.
    named = challenge.scopes or (() if own or before else tuple(authority.scopes_supported))
    return tuple(dict.fromkeys((*own, *before, *named)))


def _make_header(tokens: Tokens) -> str:
    return f"{tokens.token_type} {tokens.access_token}"


def _as_tuple(values: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if values is None else tuple(values)
