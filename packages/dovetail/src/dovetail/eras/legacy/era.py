"""The legacy implementation of `Era`, and change notifications to a session.

Results are unchanged, questions become requests. Changes of lists are announced to all sessions,
those of resources to subscribers.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import cache
from typing import Any

from msgspec import Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.era import CacheHint, Era
from dovetail.eras.legacy.session import LegacySession, session_of
from dovetail.errors import DovetailError, RpcError, ToolError, UsageError
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["LegacyEra", "announce", "era_of"]


class LegacyEra(Era):
    """A revision with a handshake and a back channel."""

    def complete(
        self, result: Struct | dict[str, Any] | Raw, hint: CacheHint | None = None
    ) -> bytes:
        """The result unchanged; legacy revisions have no cache hints."""
        return bytes(result) if isinstance(result, Raw) else codec.encode(result)

    def undeclared(self, call: Call, required: dict[str, Any]) -> DovetailError:
        """A tool error that the model reads; these revisions have no error code for it."""
        session = session_of(call)
        if session is not None and not session.is_kept:
            return ToolError(
                f"This needs a client that supports {_format_capability(required)} and a session "
                "to ask it in; this server keeps no sessions."
            )
        return ToolError(
            f"This needs a client that supports {_format_capability(required)}; this one does not."
        )

    def bad_answer(self, text: str) -> DovetailError:
        """tools.call.errors-in-result: the request itself was valid, so this is a tool error."""
        return ToolError(text)

    def ask(self, call: Call, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Return the recorded answer, or send a request to the client."""
        return self._ask(call, ask) if call.detached is None else call.detached.ask(ask)

    async def _ask(self, call: Call, ask: Ask) -> Raw:
        answer = call.record.answer_to(ask)
        if answer is None:
            answer = await self._request(call, ask)
            call.record.keep_answer(ask, answer)
        return answer

    async def _request(self, call: Call, ask: Ask) -> Raw:
        session = session_of(call)
        if session is None or session.back_channel is None:
            raise UsageError(
                f"{ask.method} needs a connection that the server can send requests on"
            )
        if not session.ready:
            # lifecycle.init.no-early-requests (2025-11-25 basic/lifecycle)
            raise ToolError(f"{ask.method} has to wait for the client's notifications/initialized.")
        try:
            return await call.waiting(session.back_channel.request(ask, call.link.send))
        except RpcError as error:
            # The client refused; the model reads this as a tool error.
            raise ToolError(f"The client refused {ask.method}: {error.message}") from None


@cache
def era_of(revision: Revision) -> LegacyEra:
    """The shared `LegacyEra` of a revision."""
    return LegacyEra(revision)


def _format_capability(required: dict[str, Any]) -> str:
    [(name, parts)] = required.items()
    return " ".join([name, *(f"({part})" for part in parts)])


def announce(change: ChangeEvent, session: LegacySession) -> Notification | None:
    """The notification for this session, or None if the change does not concern it."""
    item = change.item
    capability = change.what.capability if item is None else item.capability
    # lifecycle.operation.capabilities (2025-11-25 basic/lifecycle): only what was negotiated
    if not session.ready or capability not in session.declared:
        return None
    if item is not None:
        if item.id not in session.tasks:
            return None
        if item.is_final:
            session.tasks.discard(item.id)
        method, params = item.notification(session.revision)
        return Notification(method, Raw(codec.encode(params)))
    if change.what is not ChangeKind.RESOURCE:
        return Notification(change.what.value)
    # resources.updated-only-subscribed (2025-11-25 server/resources)
    if change.uri not in session.uris:
        return None
    return Notification(change.what.value, Raw(codec.encode({"uri": change.uri})))
