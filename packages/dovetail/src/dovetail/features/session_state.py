"""`ctx.session_state`: values that a handler keeps for its caller between requests."""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Call
from dovetail.errors import ToolError, UsageError
from dovetail.spec.revisions import Family
from dovetail.wire import codec

__all__ = ["SessionState"]


class SessionState:
    """The values of an authenticated caller, or of the session of an anonymous legacy client."""

    __slots__ = ("_lifetime", "_max_bytes", "_owner", "_store")

    def __init__(self, call: Call) -> None:
        options = call.services.options
        self._store = call.services.session_states
        self._max_bytes = options.max_session_state_bytes
        self._lifetime: float | None = options.session_state_lifetime
        if call.principal is not None:
            self._owner = f"principal:{call.principal.id}"
            return
        session = call.link.session
        is_legacy = call.era.revision.family is Family.LEGACY
        owner = session.own_state(self._store) if session is not None and is_legacy else None
        if owner is None:
            reason = (
                "this server keeps no sessions"
                if is_legacy
                else f"requests of protocol revision {call.era.revision.date} have no session"
            )
            raise ToolError(
                f"Session state needs an authenticated caller here: {reason}, so the requests of "
                "anonymous callers cannot be told apart."
            )
        self._owner = owner
        # It ends with the session.
        self._lifetime = None

    async def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, decoded from JSON; `default` if there is none."""
        raw = await self._store.get(self._owner, key)
        return default if raw is None else codec.decode_json(raw)

    async def set(self, key: str, value: Any) -> None:
        """Store a value as JSON; raises LimitError if the caller has too many bytes."""
        try:
            raw = codec.encode(value)
        except TypeError as error:
            raise UsageError(f"the session state {key!r} must be JSON: {error}") from None
        await self._store.set(
            self._owner, key, raw, lifetime=self._lifetime, max_bytes=self._max_bytes
        )

    async def delete(self, key: str) -> None:
        """Remove a value, if it exists."""
        await self._store.delete(self._owner, key)
