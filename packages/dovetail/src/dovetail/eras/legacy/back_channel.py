"""Requests from the server to the client: elicitation, sampling, roots.

Only this era has them. Ids increase and never repeat within a session. If the handler stops
waiting, the request is also cancelled at the client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.core.call import Ask
from dovetail.core.link import Outgoing
from dovetail.errors import LimitError, RpcError, TransportError
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request, Response

__all__ = ["BackChannel"]


class _Error(Struct):
    code: int
    message: str = ""
    data: Any = None


class BackChannel:
    """Sends requests on one session and matches the responses."""

    def __init__(self, timeout: float | None, node: str | None = None) -> None:
        """`node` names this process if the answer may arrive at another one."""
        self._timeout = timeout
        self._node = node
        self._waiting: dict[bytes, asyncio.Future[Raw]] = {}
        self._last_id = 0
        self._closed = False

    async def request(self, ask: Ask, send: Callable[[Outgoing], None]) -> Raw:
        """Send a request and wait for its result.

        Raises RpcError if the client responds with an error, LimitError after the timeout.
        """
        if self._closed:
            raise TransportError("the client is gone")
        self._last_id += 1
        number = self._last_id
        id = codec.encode_id(number if self._node is None else f"{self._node}-{number}")
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._waiting[id] = answer
        send(Request(id, ask.method, None if ask.params is None else Raw(ask.params)))
        try:
            # lifecycle.timeouts.set, lifecycle.timeouts.cancel (2025-11-25 basic/lifecycle)
            async with asyncio.timeout(self._timeout):
                return await answer
        except TimeoutError:
            _cancel(id, "no answer in time", send)
            raise LimitError(
                f"The client did not answer {ask.method} within {self._timeout:g} seconds."
            ) from None
        except asyncio.CancelledError:
            _cancel(id, "the answer is not needed any more", send)
            raise
        finally:
            self._waiting.pop(id, None)

    @property
    def waiting(self) -> Iterable[bytes]:
        """The ids of the requests that have no answer yet."""
        return self._waiting

    def resolve(self, response: Response) -> bool:
        """Deliver a response to the waiting request; False if there is none."""
        waiting = self._waiting.get(response.id) if response.id is not None else None
        if waiting is None or waiting.done():
            return False
        if response.error is None:
            assert response.result is not None  # the codec lets only one of the two be absent
            waiting.set_result(response.result.copy())
        else:
            waiting.set_exception(_read_error(response.error))
        return True

    def close(self) -> None:
        """Fail all waiting requests, because the client has disconnected."""
        self._closed = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(TransportError("the client is gone"))


def _cancel(id: bytes, reason: str, send: Callable[[Outgoing], None]) -> None:
    # cancel.own-direction (2025-11-25 basic/utilities/cancellation): only requests that we sent
    params = codec.encode({"requestId": codec.decode_json(id), "reason": reason})
    send(Notification("notifications/cancelled", Raw(params)))


def _read_error(raw: Raw) -> RpcError:
    try:
        error = codec.decode_as(_Error, raw)
    except msgspec.ValidationError as problem:
        return RpcError(f"the client answered with a malformed error: {problem}", code=-32603)
    return RpcError.from_wire(error.code, error.message, error.data)
