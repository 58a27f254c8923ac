"""`Guard`: who may call, what they may use, how often, and what is written down.

It is asked by transports at the door (`identify`), and stands around calls with hooks. Without a
guard none of this exists for a call.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Coroutine, Mapping, Sequence
from typing import Any

from dovetail.core.hooks import Hook
from dovetail.core.permission import Permission, read_scopes
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.guard.api_keys import ApiKeys
from dovetail.guard.audit import AuditLog
from dovetail.guard.credentials import (
    NOT_GOOD,
    Authenticator,
    Found,
    Rejected,
    challenge,
    read_bearer,
)
from dovetail.guard.limits import LimitKeeper, Limits
from dovetail.guard.metrics import Metrics
from dovetail.guard.oauth import OAuth
from dovetail.runtime.auth_backend import AuthRejection, AuthResult, PublicDocument
from dovetail.runtime.engine import Engine

__all__ = ["Guard"]

logger = logging.getLogger("dovetail")

_OWNER = Principal("local", trusted=True)
_KEY, _PRINCIPAL, _SCOPES = "DOVETAIL_API_KEY", "DOVETAIL_PRINCIPAL", "DOVETAIL_SCOPES"


class Guard:
    """Give it to `server.http_app(guard=...)`, `serve_http(...)` or `serve_stdio(...)`."""

    def __init__(  # noqa: PLR0913 - its parts, all optional and by name
        self,
        *authenticators: Authenticator,
        anonymous: bool | None = None,
        implies: Mapping[str, Collection[str]] | None = None,
        read_only: bool = False,
        limits: Limits | None = None,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        hooks: Sequence[Hook] = (),
        health: bool = False,
        local: Principal | None = None,
    ) -> None:
        """`anonymous`: let in who shows nothing, without scopes; so where nobody can be known.

        `implies`: scopes that come with a scope. `read_only`: only tools that say of themselves
        that they change nothing. `health`: answer /healthz and /readyz. `local`: who is at the
        other end of stdio.
        """
        self._authenticators = authenticators
        self._anonymous = not authenticators if anonymous is None else anonymous
        self._implied = _close(implies or {})
        self._audit = audit
        self._metrics = metrics
        self._health = health
        self._local = local
        self._lifespan: Any = None
        self._oauth = next((each for each in authenticators if isinstance(each, OAuth)), None)
        self.credential_headers = frozenset(
            header for each in authenticators for header in each.credential_headers
        )
        step_up = frozenset() if self._oauth is None else self._oauth.step_up
        self._permission = Permission(read_only, step_up, self._ask_for)
        self._limits = limits or Limits()
        own: list[Hook | None] = [metrics, audit, None if limits is None else LimitKeeper(limits)]
        # What counts and writes stands outside, so that it hears of what the rest refuses.
        self._hooks = (*(hook for hook in own if hook is not None), *hooks)
        self._no_credentials = self._unauthorized(None)
        self._bad_credentials = self._unauthorized("invalid_token")

    # -- around calls ---------------------------------------------------------------------------

    def protect(self, engine: Engine, transport: str) -> Engine:
        """The engine, guarded."""
        self._lifespan = engine.lifespan
        dispatcher = engine.dispatcher
        most = self._limits.max_result_bytes
        if self._hooks or most is not None:
            dispatcher = dispatcher.hooked(self._hooks, transport, most)
        return engine._replace(dispatcher=dispatcher, permission=self._permission)

    # -- at the door ----------------------------------------------------------------------------

    def identify(
        self, headers: Mapping[bytes, bytes]
    ) -> AuthResult | Coroutine[Any, Any, AuthResult]:
        """Who sends a request with these headers."""
        credentials = read_bearer(headers)
        if isinstance(credentials, AuthRejection | Rejected):
            return self._judge(credentials)
        for authenticator in self._authenticators:
            found = authenticator.authenticate(credentials)
            if isinstance(found, Principal):
                return self._admit(found)
            if isinstance(found, Rejected | AuthRejection):
                return self._judge(found)
            if found is not None:
                return self._wait(found)
        if credentials.token is not None and self._authenticators:
            return self._judge(Rejected("nobody knows such a token"))
        return self._judge(None)

    async def _wait(self, finding: Coroutine[Any, Any, Found]) -> AuthResult:
        return self._judge(await finding)

    def _judge(self, found: Found) -> AuthResult:
        if isinstance(found, Principal):
            return self._admit(found)
        if found is None:
            if self._anonymous:
                return None
            refusal, reason = self._no_credentials, "no credentials"
        elif isinstance(found, Rejected):
            refusal, reason = self._bad_credentials, found.reason
        else:
            refusal, reason = found, found.text
        logger.debug("not let in (%d): %s", refusal.status, reason)
        if self._audit is not None:
            self._audit.stranger("http", refusal.status, reason)
        if self._metrics is not None:
            self._metrics.stranger(refusal.status)
        return refusal

    def _admit(self, principal: Principal) -> Principal:
        if not self._implied:
            return principal
        # auth.scope.hierarchy (2026-07-28 basic/authorization): a broad scope brings narrow ones
        scopes = principal.scopes.union(
            *(self._implied.get(scope, ()) for scope in principal.scopes)
        )
        return Principal(principal.id, scopes, principal.claims, trusted=principal.trusted)

    def _unauthorized(self, error: str | None) -> AuthRejection:
        # auth.401-when-needed, auth.token.error-format, auth.prm.www-authenticate,
        # auth.challenge.scope, auth.challenge.scope-consistent (basic/authorization)
        value = challenge(
            error=error,
            description=None if error is None else NOT_GOOD,
            metadata=None if self._oauth is None else self._oauth.metadata_url,
            scopes=() if self._oauth is None else self._oauth.scopes,
        )
        text = "Authorization is needed" if error is None else NOT_GOOD
        return AuthRejection(401, text, ((b"www-authenticate", value.encode()),))

    def _ask_for(self, scopes: Collection[str]) -> str:
        metadata = None if self._oauth is None else self._oauth.metadata_url
        return challenge(error="insufficient_scope", scopes=scopes, metadata=metadata)

    def local(self, environment: Mapping[str, str]) -> Principal | None:
        """Who is at the other end of the standard streams.

        What the operator has set, whose API key is in the environment, who is named there, or
        whoever has started the process, to whom it belongs.
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
        """What is to be read at a path that is not that of MCP."""
        page = None if self._oauth is None else self._oauth.page(path, mcp_path)
        if page is None and self._metrics is not None:
            page = self._metrics.page(path)
        if page is None and self._health and path in ("/healthz", "/readyz"):
            is_ready = path == "/healthz" or self._lifespan.started
            body = b'{"status":"ok"}' if is_ready else b'{"status":"starting"}'
            page = PublicDocument(200 if is_ready else 503, body)
        return page


def _close(implies: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    """What each scope brings, and what that brings."""
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
