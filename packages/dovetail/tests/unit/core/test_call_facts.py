from __future__ import annotations

from dovetail.core.call import StaticScope
from dovetail.core.middleware import CallFacts, call_of
from dovetail.core.principal import Principal
from tests.unit.fakes import make_call


def test_a_call_says_who_asks_and_what_came_with_it() -> None:
    call = make_call(params=b'{"name":"t","_meta":{"a/b":1}}', id=b'"seven"')
    call.principal = Principal("alice")
    call.origin = StaticScope({"type": "http"})
    facts = CallFacts(call)
    assert facts.principal is not None
    assert facts.principal.id == "alice"
    assert facts.revision == call.era.revision.date
    assert facts.request_id == "seven"
    assert facts.meta == {"a/b": 1}
    assert facts.scope == {"type": "http"}
    assert call_of(facts) is call
