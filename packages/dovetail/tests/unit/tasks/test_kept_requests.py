from __future__ import annotations

from dovetail import Server
from dovetail.core.call import Call, Peer
from dovetail.core.principal import Principal
from dovetail.spec.models import ClientInfo
from dovetail.stores.tasks import TaskRow
from dovetail.tasks.kept_requests import keep_request, reopen_request

SERVER = Server("yard")


def kept(revision: str = "2025-11-25", request: bytes | None = None) -> TaskRow:
    eras = SERVER.engine.eras
    found = eras.reopen("2025-11-25", "tools/call", b'{"name":"dig","arguments":{"deep":3}}')
    assert found is not None
    params, era = found
    peer = Peer(ClientInfo(name="c", version="1"), {"elicitation": {}}, 2)
    call = Call(b"1", "tools/call", params, era, peer)
    call.principal = Principal("ann", ["b", "a"])
    return TaskRow(
        id="t",
        owner="ann",
        revision=revision,
        created=1.0,
        updated=1.0,
        expires=None,
        request=keep_request(call) if request is None else request,
    )


def test_a_request_is_the_same_when_it_is_opened_again() -> None:
    call = reopen_request(kept(), SERVER.engine.eras)
    assert call is not None
    assert call.method == "tools/call" and call.params.name == "dig"  # type: ignore[attr-defined]
    assert call.peer.capabilities == {"elicitation": {}} and call.peer.log_rank == 2
    assert call.principal is not None
    assert call.principal.id == "ann" and call.principal.scopes == {"a", "b"}


def test_what_was_not_kept_or_is_not_spoken_cannot_be_opened() -> None:
    assert reopen_request(kept(request=b""), SERVER.engine.eras) is None
    assert reopen_request(kept(revision="1999-01-01"), SERVER.engine.eras) is None
