"""Questions of the upstream to a legacy caller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.core.call import Ask, Call
from dovetail.core.link import Link
from dovetail.eras.legacy.session import session_of
from dovetail.errors import MethodNotFoundError, RpcError, ToolError
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from dovetail_gateway.questions import fit_question

__all__ = ["SessionAsker", "ask_all"]

# The oldest are forgotten first.
_MAX_VISITORS = 1000


class _Completed(Struct, rename="camel"):
    elicitation_id: str


class SessionAsker:
    """Asks by a request on the caller's session."""

    def __init__(self) -> None:
        # Who was asked to visit a URL, by the id of the question.
        self._visitors: dict[str, Link] = {}

    def complete(self, message: Notification) -> None:
        """Tell the caller that was asked to visit a URL that it has done so."""
        try:
            params = codec.decode_as(_Completed, message.params or b"{}")
        except msgspec.ValidationError:
            return
        link = self._visitors.pop(params.elicitation_id, None)
        if link is not None:
            link.send_unrelated(message)

    async def ask(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the caller's answer; raises RpcError."""
        session = session_of(call)
        if session is None or session.back_channel is None or not session.ready:
            raise MethodNotFoundError(f"{method} needs a session to ask the client in")
        id = params.get("elicitationId")
        if isinstance(id, str) and call.era.revision.url_elicitation_id:
            if len(self._visitors) >= _MAX_VISITORS:
                del self._visitors[next(iter(self._visitors))]
            self._visitors[id] = call.link.after_response()
        ask = Ask("", method, fit_question(method, params, call.era.revision))
        raw = await session.back_channel.request(ask, call.link.send)
        return codec.decode_as(dict[str, Any], raw)


async def ask_all(call: Call, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the answers to the questions in an `input_required` result."""
    asker = SessionAsker()
    asking = [
        asyncio.ensure_future(
            asker.ask(call, str(request.get("method")), request.get("params") or {})
        )
        for request in requests.values()
    ]
    try:
        answers = await asyncio.gather(*asking)
    except RpcError as error:
        raise ToolError(f"The client refused the question: {error.message}") from None
    finally:
        for each in asking:
            each.cancel()
    return dict(zip(requests, answers, strict=True))
