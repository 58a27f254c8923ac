"""Reads the messages in the HTTP response to one request."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from dovetail.client.channel import OnMessage
from dovetail.client.http_failure import HttpFailure
from dovetail.client.http_headers import ToolHeaders
from dovetail.client.http_session import ClientHttpSession
from dovetail.errors import PeerError, RpcError
from dovetail.net.http_connection import ClientResponse
from dovetail.wire import codec
from dovetail.wire.messages import Batch, Malformed, Request, Response

__all__ = ["ResponseReader"]


class _WireError(Struct):
    code: int
    message: str
    data: object = None


class ResponseReader:
    """Delivers the messages of a response and notes when the request is answered."""

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
        self.is_answered: bool = False
        # Set when the server may support another transport.
        self.refusal: HttpFailure | None = None
        self._tools = tools
        self._deliver = deliver

    def read_head(self, response: ClientResponse) -> None:
        """Take the session id from the response to initialize."""
        if self.session is not None and self.request.method == "initialize":
            self.session.assign(response.headers.get("mcp-session-id"))

    def take(self, data: bytes) -> bool:
        """Deliver one message; returns whether the request is answered."""
        incoming, received = codec.decode(data), data
        for item in incoming.items if isinstance(incoming, Batch) else (incoming,):
            if isinstance(item, Response) and item.id == self.request.id:
                self.is_answered = True
                data = self._inspect_result(item, data)
            elif isinstance(item, Response) and item.id is None and item.error is not None:
                self.is_answered = True
                data = self._add_id(item)
            elif isinstance(item, Malformed) and item.id == self.request.id:
                self.is_answered = True
        self._deliver(data, incoming if data is received else None)
        return self.is_answered

    def _inspect_result(self, answer: Response, data: bytes) -> bytes:
        """Take what HTTP needs from a result; returns the message to deliver."""
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
        """Deliver the body of an error response if it is a JSON-RPC error."""
        incoming = codec.decode(body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return False
        self.is_answered = True
        self._deliver(self._add_id(incoming))
        return True

    def _add_id(self, response: Response) -> bytes:
        """Add the request's id to an error without an id in its HTTP response."""
        assert response.error is not None
        try:
            error = codec.decode_as(_WireError, response.error)
        except msgspec.ValidationError as problem:
            text = f"The error response to {self.request.method} is not valid JSON-RPC: {problem}"
            raise PeerError(text) from None
        known = RpcError.from_wire(error.code, error.message, error.data)
        return codec.encode_error(self.request.id, known)
