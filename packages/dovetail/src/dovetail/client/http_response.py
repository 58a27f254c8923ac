"""The response to one request, message by message, and what in it concerns HTTP itself."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dovetail.client.channel import OnMessage
from dovetail.client.http_connection import HttpResponse
from dovetail.client.http_failure import HttpFailure
from dovetail.client.http_headers import ToolHeaders
from dovetail.client.http_session import ClientHttpSession
from dovetail.errors import PeerError, RpcError
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Request, Response

__all__ = ["Reading"]


class _WireError(Struct):
    code: int
    message: str
    data: object = None


class Reading:
    """What has come so far of the answer to a request."""

    def __init__(
        self,
        request: Request,
        session: ClientHttpSession | None,
        tools: ToolHeaders,
        deliver: OnMessage,
    ) -> None:
        self.request = request
        # None for a modern request.
        self.session = session
        self.is_answered = False
        # Set instead of an answer where another transport may be what the server speaks.
        self.refusal: HttpFailure | None = None
        self._tools = tools
        self._deliver = deliver

    def note_head(self, response: HttpResponse) -> None:
        """The head of the answer to initialize names the session."""
        if self.session is not None and self.request.method == "initialize":
            self.session.assign(response.headers.get("mcp-session-id"))

    def take(self, data: bytes) -> bool:
        """Deliver one message; whether the request is answered now."""
        incoming = codec.decode(data)
        for item in incoming.items if isinstance(incoming, Batch) else (incoming,):
            if isinstance(item, Response) and item.id == self.request.id:
                self.is_answered = True
                data = self._note_answer(item, data)
            elif isinstance(item, Response) and item.id is None and item.error is not None:
                self.is_answered = True
                data = self._address(item)
            elif isinstance(item, Malformed) and item.id == self.request.id:
                self.is_answered = True
        self._deliver(data)
        return self.is_answered

    def _note_answer(self, answer: Response, data: bytes) -> bytes:
        """Look at an answer that concerns HTTP itself; what to hand out of it."""
        if answer.result is None:
            return data
        if self.request.method == "initialize" and self.session is not None:
            self.session.agree(answer.result)
        elif self.request.method == "tools/list" and self.session is None:
            valid = self._tools.learn(answer.result)
            if valid is not None:
                return codec.encode_result(self.request.id, valid)
        return data

    def take_error(self, body: bytes) -> bool:
        """Deliver the body of a refusal if it is a JSON-RPC error."""
        incoming = codec.decode(body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return False
        self.is_answered = True
        self._deliver(self._address(incoming))
        return True

    def _address(self, response: Response) -> bytes:
        """An error that names no request, on the response to this one: it is about this one."""
        assert response.error is not None
        try:
            error = codec.decode_as(_WireError, response.error)
        except msgspec.ValidationError as problem:
            text = f"The error that answers {self.request.method} does not fit JSON-RPC: {problem}"
            raise PeerError(text) from None
        known = RpcError.from_wire(error.code, error.message, error.data)
        return codec.encode_error(self.request.id, known)
