"""A call gets from the engine all it needs to run."""

from __future__ import annotations

from dovetail import Server
from dovetail.core.call import Call, Given, Peer
from dovetail.core.principal import Principal
from dovetail.eras.legacy.era import era_of
from dovetail.spec.models import Params
from dovetail.spec.revisions import LATEST_LEGACY
from tests.unit.talk import run


class Outbox:
    def send(self, message: bytes) -> None: ...

    async def drain(self) -> None: ...


def test_a_call_is_given_the_means_to_run() -> None:
    async def scenario() -> None:
        server = Server("s")
        await server.start()
        call = Call(b"1", "ping", Params(), era_of(LATEST_LEGACY), Peer(None, {}, None))
        outbox, link, scope = Outbox(), object(), Given(object())
        server.engine.equip(call, outbox, link, scope, Principal("alice"))
        assert call.outbox is outbox
        assert call.services.runner is server.engine.runner
        assert call.services.host is server
        assert call.services.lifespan.state is None
        assert (call.link, call.origin, call.principal) == (link, scope, Principal("alice"))
        await server.close()

    run(scenario())
