"""The engine is what the calls of a server share."""

from __future__ import annotations

from dovetail import Server
from dovetail.runtime.message_handler import ClientHandler
from dovetail.wire import codec
from dovetail.wire.messages import Request
from tests.unit.talk import MODERN, request, run


def test_a_call_gets_the_engine_as_its_services() -> None:
    async def scenario() -> None:
        server = Server("s")
        await server.start()
        message = codec.decode(request("server/discover", revision=MODERN))
        assert isinstance(message, Request)
        call = ClientHandler(server.engine).open(message, None)
        assert not isinstance(call, Exception)
        assert call.services is server.engine
        assert call.services.host.source is server
        assert call.services.lifespan.state is None
        await server.close()

    run(scenario())
