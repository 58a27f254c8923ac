"""`Guard`: authentication, permissions, rate limits, and middleware around all requests.

Transports call `identify` for each request; the middleware runs around each call. A server without
a guard skips all of this.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import Any

from dovetail.auth.api_keys import ApiKeys, BearerTokens
from dovetail.auth.credentials import (
    INVALID_KEY,
    INVALID_TOKEN,
    Authenticator,
    Found,
    Rejected,
    read_credentials,
)
from dovetail.auth.limits import Limits, RateLimiter, share_limits
from dovetail.auth.oauth import OAuth
from dovetail.core.middleware import AnyMiddleware, GuardChains
from dovetail.core.principal import Permission, Principal, read_scopes
from dovetail.errors import UsageError
from dovetail.features.middleware import REQUESTS
from dovetail.oauth.challenges import make_challenge
from dovetail.observability.logs import AuditLog
from dovetail.observability.metrics import Metrics
from dovetail.runtime.auth_backend import AuthRejection, AuthRequest, AuthResult
from dovetail.runtime.engine import Engine, PublicDocument, find_health_page
from dovetail.runtime.rates import Bucket, Rate
from dovetail.runtime.state import ServerState

__all__ = ["Guard"]

logger: logging.Logger = logging.getLogger("dovetail")

_OWNER = Principal("local", trusted=True)
# Anybody can send wrong tokens, and the log must not be filled with them.
_REFUSALS = Rate(1, burst=10)
_KEY, _PRINCIPAL, _SCOPES = "DOVETAIL_API_KEY", "DOVETAIL_PRINCIPAL", "DOVETAIL_SCOPES"


class Guard:
    """Pass it to `server.http_app(guard=...)`, `serve_http(...)` or `serve_stdio(...)`."""

    def __init__(  # noqa: PLR0913 - optional keyword parameters
        self,
        *authenticators: Authenticator,
        anonymous: bool | None = None,
        implies: Mapping[str, Collection[str]] | None = None,
        read_only: bool = False,
        limits: Limits | None = None,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        middleware: Sequence[AnyMiddleware] = (),
        health: bool = False,
        local: Principal | None = None,
    ) -> None:
        """`anonymous`: accept requests without credentials; the default without authenticators.

        `implies`: scopes that a scope includes. `read_only`: allow only tools annotated as
        read-only. `middleware`: runs around every request, inside metrics, audit log and limits.
        `health`: serve /healthz and /readyz, below the mount point of the application; beside a
        `Route` they need routes of their own. `local`: the principal of the stdio client.
        """
        for each in authenticators:
            if isinstance(each, type) or not hasattr(each, "authenticate"):
                raise UsageError(
                    f"Guard takes authenticators such as BearerTokens({{...}}) or ApiKeys(...), "
                    f"got {each!r:.100}"
                )
        self._authenticators = authenticators
        self._anonymous = not authenticators if anonymous is None else anonymous
        self._implied = _expand(implies or {})
        self._audit = audit
        self._metrics = metrics
        self._health = health
        self._local = local
        self._engine: Engine
        self._oauth = next((each for each in authenticators if isinstance(each, OAuth)), None)
        self.credential_headers: frozenset[bytes] = frozenset(
            header for each in authenticators for header in each.credential_headers
        )
        step_up = frozenset() if self._oauth is None else self._oauth.step_up
        self._permission = Permission(read_only, step_up, self._scope_challenge)
        self._limits = limits or Limits()
        limiter = None if limits is None else RateLimiter(limits)
        # Metrics and audit are outermost, so that they also see rejected calls.
        own: list[AnyMiddleware | None] = [metrics, audit, limiter]
        self._middleware = (*(each for each in own if each is not None), *middleware)
        keys = (ApiKeys, BearerTokens)
        self._has_keys_only = bool(authenticators) and all(
            isinstance(each, keys) for each in authenticators
        )
        self._log_bucket = Bucket(_REFUSALS)
        self._unlogged = 0
        self._no_credentials = self._unauthorized(None)
        self._bad_credentials = self._unauthorized("invalid_token")

    @property
    def requires_auth(self) -> bool:
        """Whether callers over HTTP must authenticate."""
        return not self._anonymous

    # -- calls ----------------------------------------------------------------------------------

    def protect(self, engine: Engine, transport: str) -> Engine:
        """A copy of the engine with the permissions, limits and middleware of this guard."""
        self._engine = engine
        if self._metrics is not None and engine.processes is not None:
            self._metrics.watch(engine)
        dispatcher = engine.dispatcher
        max_bytes = self._limits.max_result_bytes
        middleware = self._middleware
        if engine.state.is_shared:
            middleware = share_limits(middleware, engine.state)
            self._share_credentials(engine.state)
        if middleware or max_bytes is not None:
            chains = GuardChains(REQUESTS, middleware)
            dispatcher = dispatcher.guarded(chains, transport, max_bytes)
        return engine._replace(dispatcher=dispatcher, permission=self._permission)

    def _share_credentials(self, state: ServerState) -> None:
        """Revoked keys and used proofs are those of all processes."""
        for each in self._authenticators:
            if isinstance(each, ApiKeys):
                each.reject(state.revocations)
            elif isinstance(each, OAuth):
                each.set_default_store(state.used_rounds)

    # -- authentication -------------------------------------------------------------------------

    def identify(self, request: AuthRequest) -> AuthResult | Coroutine[Any, Any, AuthResult]:
        """The principal of a request, or a rejection."""
        credentials = read_credentials(request)
        if isinstance(credentials, AuthRejection | Rejected):
            return self._decide(credentials)
        for authenticator in self._authenticators:
            found = authenticator.authenticate(credentials)
            if isinstance(found, Principal):
                return self._admit(found)
            if isinstance(found, Rejected | AuthRejection):
                return self._decide(found)
            if found is not None:
                return self._wait(found)
        if (credentials.token or credentials.bound) and self._authenticators:
            return self._decide(Rejected("no authenticator recognizes the token"))
        return self._decide(None)

    async def _wait(self, finding: Coroutine[Any, Any, Found]) -> AuthResult:
        return self._decide(await finding)

    def _decide(self, found: Found) -> AuthResult:
        if isinstance(found, Principal):
            return self._admit(found)
        if found is None:
            if self._anonymous:
                return None
            refusal, reason = self._no_credentials, "no credentials"
        elif isinstance(found, Rejected):
            refusal, reason = self._bad_credentials, found.reason
            self._log_refusal(found.detail or found.reason)
        else:
            refusal, reason = found, found.text
        logger.debug("rejected (%d): %s", refusal.status, reason)
        if self._audit is not None:
            self._audit.record_rejection("http", refusal.status, reason)
        if self._metrics is not None:
            self._metrics.record_rejection(refusal.status)
        return refusal

    def _log_refusal(self, why: str) -> None:
        """Tell the operator why credentials were refused; the caller only learns that they were."""
        if self._log_bucket.wait():
            self._unlogged += 1
            return
        self._log_bucket.take()
        more = f" ({self._unlogged} more were refused before)" if self._unlogged else ""
        self._unlogged = 0
        logger.warning("%s refused: %s%s", "key" if self._has_keys_only else "token", why, more)

    def _admit(self, principal: Principal) -> Principal:
        if not self._implied:
            return principal
        # auth.scope.hierarchy (2026-07-28 basic/authorization): a broad scope includes narrow ones
        scopes = principal.scopes.union(
            *(self._implied.get(scope, ()) for scope in principal.scopes)
        )
        return Principal(principal.id, scopes, principal.claims, trusted=principal.trusted)

    def _unauthorized(self, error: str | None) -> AuthRejection:
        # auth.401-when-needed, auth.token.error-format, auth.prm.www-authenticate,
        # auth.challenge.scope, auth.challenge.scope-consistent (2025-11-25 basic/authorization)
        scopes = () if self._oauth is None else self._oauth.scopes
        invalid = INVALID_KEY if self._has_keys_only else INVALID_TOKEN
        value = self._challenge(error, scopes, None if error is None else invalid)
        missing = "A key is required" if self._has_keys_only else "Authorization is required"
        text = missing if error is None else invalid
        return AuthRejection(401, text, ((b"www-authenticate", value.encode()),))

    def _scope_challenge(self, scopes: Collection[str]) -> str:
        return self._challenge("insufficient_scope", scopes)

    def _challenge(
        self, error: str | None, scopes: Collection[str], description: str | None = None
    ) -> str:
        if self._oauth is None:
            return make_challenge(error=error, scopes=scopes, description=description)
        return make_challenge(
            error=error,
            scopes=scopes,
            description=description,
            metadata=self._oauth.metadata_url,
            schemes=self._oauth.schemes,
        )

    def local(self, environment: Mapping[str, str]) -> Principal | None:
        """The principal of the stdio client.

        In this order: the `local` option, the API key in DOVETAIL_API_KEY, the name in
        DOVETAIL_PRINCIPAL, or the owner of the process, who is trusted.
        """
        if self._local is not None:
            return self._local
        key = environment.get(_KEY)
        keys = next((each for each in self._authenticators if isinstance(each, ApiKeys)), None)
        if key is not None and keys is not None:
            found = keys.check(key.encode())
            if isinstance(found, Rejected):
                raise UsageError(f"{_KEY}: {found.reason}")
            return self._admit(found)
        name = environment.get(_PRINCIPAL)
        if name:
            scopes = read_scopes(environment.get(_SCOPES, "").split(), _SCOPES)
            return self._admit(Principal(name, scopes))
        return _OWNER

    def page(self, path: str, mcp_path: str) -> PublicDocument | None:
        """The document at a path other than the MCP endpoint, if any."""
        page = None if self._oauth is None else self._oauth.page(path, mcp_path)
        if page is None and self._metrics is not None:
            page = self._metrics.page(path)
        if page is None and self._health:
            page = find_health_page(path, self._engine)
        return page


def _expand(implies: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    """The scopes that each scope includes, directly and indirectly."""
    direct = {scope: read_scopes(inner, "implies") for scope, inner in implies.items()}
    closed = {}
    for scope in direct:
        found: set[str] = set()
        waiting = [scope]
        while waiting:
            for inner in direct.get(waiting.pop(), ()):
                if inner not in found:
                    found.add(inner)
                    waiting.append(inner)
        closed[scope] = frozenset(found)
    return closed
