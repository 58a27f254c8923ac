"""Multi round-trip requests: a run that asks ends, and the next one knows what was answered.

A handler is driven as the server drives it: each run is a new request with what the last
result told the client to send back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from msgspec import UNSET, Raw

from dovetail.core.call import Ask, Call, Peer
from dovetail.core.call_state import RUNNING
from dovetail.core.dispatch import InputRequired
from dovetail.core.principal import to_principal
from dovetail.core.replay import MemoryUsedIds, UsedIds
from dovetail.eras.modern.era import ModernEra
from dovetail.eras.modern.mrtr import InputRounds
from dovetail.eras.modern.sealing import Sealer
from dovetail.errors import InvalidParamsError, UsageError
from dovetail.features.context import Context
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.models import Implementation, InputParams
from dovetail.spec.revisions import V2026_07_28
from tests.unit.fakes import Run, drive, make_call, settle

SERVER = Implementation(name="s", version="1")
KEY = b"k" * 32
CLIENT = Peer(None, {"elicitation": {}, "roots": {}}, None)
ARGUMENTS = {"name": "t", "arguments": {"a": 1, "b": [2]}}
LIFETIME = 60.0

Handler = Callable[[Call], Coroutine[Any, Any, Any]]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Server:
    """One process; several of them share nothing but the key."""

    def __init__(
        self, clock: Callable[[], float] | None = None, used: UsedIds | None = None
    ) -> None:
        sealer = Sealer([KEY], clock=clock or Clock())
        self.rounds = InputRounds(sealer, LIFETIME, SERVER)
        if used is not None:
            self.rounds.set_store(used)
        self.era = ModernEra(V2026_07_28, SERVER, self.rounds)

    def call(
        self,
        params: dict[str, Any] | bytes,
        *,
        method: str = "tools/call",
        principal: str | None = None,
    ) -> Call:
        raw = params if isinstance(params, bytes) else json.dumps(params).encode()
        call = make_call(method, raw, era=self.era, peer=CLIENT)
        call.principal = to_principal(principal)
        if isinstance(call.params, InputParams):
            self.rounds.restore(call, call.params)
        return call

    def run(self, handler: Handler, params: dict[str, Any], **options: Any) -> Any:
        """What one request comes to: a value of the handler's, or the interim result."""

        async def one() -> Any:
            call = self.call(params, **options)
            try:
                return await Run(call).of(handler(call))
            except InputRequired as interim:
                return json.loads(interim.body)

        outcome = drive(one())
        assert self.rounds._pending == {}
        return outcome


def retry(interim: dict[str, Any], answers: Any, **changes: Any) -> dict[str, Any]:
    """The request as the client sends it again."""
    return {
        **ARGUMENTS,
        "inputResponses": answers,
        "requestState": interim["requestState"],
        **changes,
    }


async def ask(call: Call, key: str, params: bytes | None = b'{"message":"m"}') -> Any:
    call.record.claim(key, "elicit")
    return json.loads(bytes(await call.era.ask(call, Ask(key, "elicitation/create", params))))


def asks_for(*keys: str) -> Handler:
    """A handler that asks one question after the other."""

    async def handler(call: Call) -> list[Any]:
        return [await ask(call, key) for key in keys]

    return handler


def asks_about(message: str) -> Handler:
    """A handler that asks this question."""

    async def handler(call: Call) -> Any:
        return await ask(call, "k", json.dumps({"message": message}).encode())

    return handler


YES = {"action": "accept"}


# -- the rounds -----------------------------------------------------------------------------------


def test_a_question_ends_the_run_with_a_result_that_asks_it() -> None:
    interim = Server().run(asks_for("k"), ARGUMENTS)
    state = interim.pop("requestState")
    assert interim == {
        "resultType": "input_required",
        "_meta": {SERVER_INFO: {"name": "s", "version": "1"}},
        "inputRequests": {"k": {"method": "elicitation/create", "params": {"message": "m"}}},
    }
    assert isinstance(state, str)


def test_a_result_that_only_keeps_the_record_asks_nothing() -> None:
    server = Server()
    interim = json.loads(server.rounds.interim(server.call(ARGUMENTS), {}))
    assert interim.keys() == {"resultType", "_meta", "requestState"}


def test_a_question_without_params_has_none() -> None:
    async def handler(call: Call) -> Any:
        return await call.era.ask(call, Ask("r", "roots/list", None))

    assert Server().run(handler, ARGUMENTS)["inputRequests"] == {"r": {"method": "roots/list"}}


def test_the_next_run_gets_the_answer_at_once_even_in_another_process() -> None:
    interim = Server().run(asks_for("k"), ARGUMENTS)
    assert Server().run(asks_for("k"), retry(interim, {"k": YES})) == [YES]


def test_answers_of_earlier_rounds_travel_in_the_state() -> None:
    server, handler = Server(), asks_for("a", "b", "c")
    interim = server.run(handler, ARGUMENTS)
    for key, following in [("a", "b"), ("b", "c")]:
        interim = server.run(handler, retry(interim, {key: {"of": key}}))
        assert list(interim["inputRequests"]) == [following]
    last = server.run(handler, retry(interim, {"c": {"of": "c"}}))
    assert last == [{"of": "a"}, {"of": "b"}, {"of": "c"}]


def test_questions_asked_together_go_out_in_one_round() -> None:
    async def handler(call: Call) -> list[Any]:
        return await asyncio.gather(*(ask(call, key) for key in ("a", "b", "c")))

    server = Server()
    interim = server.run(handler, ARGUMENTS)
    assert list(interim["inputRequests"]) == ["a", "b", "c"]
    answers = {key: {"of": key} for key in ("c", "a", "b")}
    assert server.run(handler, retry(interim, answers)) == [
        {"of": "a"},
        {"of": "b"},
        {"of": "c"},
    ]


def test_what_is_still_missing_is_asked_for_again() -> None:
    async def handler(call: Call) -> list[Any]:
        return list(await asyncio.gather(ask(call, "a"), ask(call, "b")))

    server = Server()
    interim = server.run(handler, ARGUMENTS)
    again = server.run(handler, retry(interim, {"b": {"of": "b"}}))
    assert list(again["inputRequests"]) == ["a"]
    done = server.run(handler, retry(again, {"a": {"of": "a"}}))
    assert done == [{"of": "a"}, {"of": "b"}]


def test_the_end_of_a_run_cannot_be_swallowed_by_except_exception() -> None:
    async def handler(call: Call) -> str:
        try:
            await ask(call, "k")
        except Exception:  # noqa: BLE001 - what careless authors write
            return "swallowed"
        return "answered"

    assert Server().run(handler, ARGUMENTS)["resultType"] == "input_required"


def test_a_question_the_author_gave_up_is_not_asked_and_the_others_are() -> None:
    async def handler(call: Call) -> Any:
        async def impatient() -> Any:
            async with asyncio.timeout(0):
                return await ask(call, "given up")

        return await asyncio.gather(impatient(), ask(call, "kept"), return_exceptions=True)

    interim = Server().run(handler, ARGUMENTS)
    assert list(interim["inputRequests"]) == ["kept"]


def test_a_run_that_goes_on_without_its_question_is_not_ended() -> None:
    async def handler(call: Call) -> str:
        try:
            async with asyncio.timeout(0):
                await ask(call, "k")
        except TimeoutError:
            await settle()
        return "done"

    assert Server().run(handler, ARGUMENTS) == "done"


def test_a_run_that_is_over_in_the_same_moment_is_not_ended_again() -> None:
    async def run() -> None:
        server = Server()
        call = server.call(ARGUMENTS)
        ended: list[Any] = []
        call.interruption = ended.append
        call.phase = RUNNING
        task = asyncio.ensure_future(ask(call, "k"))
        await asyncio.sleep(0)
        call.interruption = None  # the time is up
        await settle()
        assert ended == []
        task.cancel()

    drive(run())


# -- effects --------------------------------------------------------------------------------------


class Effects:
    """Counts what really happened."""

    def __init__(self) -> None:
        self.happened: list[str] = []

    async def happen(self, name: str) -> int:
        await settle()
        self.happened.append(name)
        return len(self.happened)


def test_an_effect_is_recorded_before_the_run_may_end() -> None:
    effects = Effects()

    async def handler(call: Call) -> Any:
        return await asyncio.gather(
            ask(call, "k"), Context(call).once("e", lambda: effects.happen("e"))
        )

    server = Server()
    interim = server.run(handler, ARGUMENTS)
    assert list(interim["inputRequests"]) == ["k"]
    assert effects.happened == ["e"]
    assert server.run(handler, retry(interim, {"k": YES})) == [YES, 1]
    assert effects.happened == ["e"]


def test_a_question_that_follows_an_effect_still_joins_the_round() -> None:
    effects = Effects()

    async def handler(call: Call) -> Any:
        async def effect_then_ask() -> Any:
            await Context(call).once("e", lambda: effects.happen("e"))
            return await ask(call, "late")

        return await asyncio.gather(ask(call, "early"), effect_then_ask())

    interim = Server().run(handler, ARGUMENTS)
    assert list(interim["inputRequests"]) == ["early", "late"]
    assert effects.happened == ["e"]


def test_the_loop_does_not_spin_while_an_effect_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> int:
        server = Server()
        call = server.call(ARGUMENTS)
        call.interruption = lambda outcome: None
        call.phase = RUNNING
        turns = 0
        end_run = server.rounds._end_run

        def counted(call: Call, left: int) -> None:
            nonlocal turns
            turns += 1
            end_run(call, left)

        monkeypatch.setattr(server.rounds, "_end_run", counted)
        with call.record.effect("e"):
            task = asyncio.ensure_future(ask(call, "k"))
            await settle(100)
            task.cancel()
        return turns

    assert drive(run()) <= 3


def test_an_effect_of_an_earlier_round_travels_in_the_state() -> None:
    effects = Effects()

    async def handler(call: Call) -> Any:
        number = await Context(call).once("e", lambda: effects.happen("e"))
        return number, await ask(call, "a"), await ask(call, "b")

    server = Server()
    interim = server.run(handler, ARGUMENTS)
    interim = server.run(handler, retry(interim, {"a": YES}))
    assert server.run(handler, retry(interim, {"b": YES})) == (1, YES, YES)
    assert effects.happened == ["e"]


def test_a_state_that_is_too_large_to_travel_fails_the_run_at_once() -> None:
    async def handler(call: Call) -> Any:
        await Context(call).once("big", lambda: "x" * 2_000_000)
        return await ask(call, "k")

    with pytest.raises(UsageError, match="the limit is"):
        Server().run(handler, ARGUMENTS)


# -- keys and answers -----------------------------------------------------------------------------


def test_two_questions_with_one_key_are_the_authors_mistake() -> None:
    with pytest.raises(UsageError, match="the key 'k' is used for two questions"):
        server = Server()
        interim = server.run(asks_for("k", "k"), ARGUMENTS)
        server.run(asks_for("k", "k"), retry(interim, {"k": YES}))


def test_the_first_answer_counts() -> None:
    server, handler = Server(), asks_for("a", "b")
    interim = server.run(handler, ARGUMENTS)
    interim = server.run(handler, retry(interim, {"a": {"n": 1}}))
    changed = retry(interim, {"a": {"n": 2}, "b": {"n": 3}})
    assert server.run(handler, changed) == [{"n": 1}, {"n": 3}]


def test_answers_nobody_asked_for_are_ignored_and_not_carried_on() -> None:
    server, handler = Server(), asks_for("a", "b")
    interim = server.run(handler, ARGUMENTS)
    extra = {"a": YES, "other": {"x": "y" * 1000}}
    grown = server.run(handler, retry(interim, extra))
    plain = Server().run(handler, retry(interim, {"a": YES}))
    assert list(grown["inputRequests"]) == ["b"]
    assert len(grown["requestState"]) == len(plain["requestState"])
    restored = server.call(retry(grown, {"b": YES}))
    assert restored.record.answers.keys() == {"a", "b"}


def test_an_answer_before_the_question_is_ignored() -> None:
    interim = Server().run(asks_for("k"), {**ARGUMENTS, "inputResponses": {"k": YES}})
    assert list(interim["inputRequests"]) == ["k"]


def test_an_answer_counts_for_the_question_that_was_asked() -> None:
    server = Server()
    interim = server.run(asks_about("Pay 1 EUR?"), ARGUMENTS)
    dearer = retry(interim, {"k": YES})
    interim = server.run(asks_about("Pay 1000 EUR?"), dearer)
    assert "Pay 1000 EUR?" in str(interim["inputRequests"])
    assert server.run(asks_about("Pay 1000 EUR?"), retry(interim, {"k": YES})) == YES


def test_a_recorded_answer_is_dropped_when_the_question_changes() -> None:
    server = Server()
    interim = server.run(asks_for("k", "l"), ARGUMENTS)
    interim = server.run(asks_for("k", "l"), retry(interim, {"k": YES}))
    interim = server.run(asks_about("Pay 1000 EUR?"), retry(interim, {"l": YES}))
    assert list(interim["inputRequests"]) == ["k"]


def test_a_round_is_used_once() -> None:
    server, handler = Server(), asks_for("k")
    answered = retry(server.run(handler, ARGUMENTS), {"k": YES})
    assert server.run(handler, answered) == [YES]
    with pytest.raises(InvalidParamsError, match="requestState was used before"):
        server.run(handler, answered)


def test_processes_can_share_which_rounds_were_used() -> None:
    shared = MemoryUsedIds()
    first, second = Server(used=shared), Server(used=shared)
    handler = asks_for("k")
    answered = retry(first.run(handler, ARGUMENTS), {"k": YES})
    assert first.run(handler, answered) == [YES]
    with pytest.raises(InvalidParamsError, match="requestState was used before"):
        second.run(handler, answered)


class SlowRounds:
    """A store that answers later."""

    def __init__(self) -> None:
        self._used: set[bytes] = set()

    async def use(self, id: bytes, lifetime: float) -> bool:
        await asyncio.sleep(0)
        is_unused = id not in self._used
        self._used.add(id)
        return is_unused


@pytest.mark.parametrize("used", [None, SlowRounds()])
def test_a_finished_round_cannot_be_replayed(used: SlowRounds | None) -> None:
    server = Server(used=used)

    async def handler(call: Call) -> Any:
        return await asyncio.gather(*(ask(call, key) for key in ("a", "b")), return_exceptions=True)

    answered = retry(server.run(handler, ARGUMENTS), {"a": YES, "b": YES})
    assert server.run(handler, answered) == [YES, YES]
    refused = server.run(handler, answered)
    assert [type(error) for error in refused] == [InvalidParamsError] * 2


@pytest.mark.parametrize(
    ("responses", "said"),
    [
        ([], "inputResponses: Expected `object`, got `array`"),
        (None, "inputResponses: Expected `object`, got `null`"),
        ("x", "inputResponses: Expected `object`, got `str`"),
        ({"k": None}, "inputResponses['k'] must be an object"),
        ({"k": [1]}, "inputResponses['k'] must be an object"),
        ({"good": {}, "k" * 1000: "text"}, f"inputResponses['{'k' * 100}'] must be an object"),
    ],
)
def test_malformed_answers_are_refused(responses: Any, said: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        Server().call({**ARGUMENTS, "inputResponses": responses})
    assert caught.value.message == f"Invalid params: {said}"


def test_a_request_without_either_starts_with_an_empty_record() -> None:
    record = Server().call(ARGUMENTS).record
    assert (record.answers, record.results) == ({}, {})


# -- where it may be done -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "t"}),
        ("tools/call", ARGUMENTS),
        ("prompts/get", {"name": "p"}),
        ("prompts/get", {"name": "p", "arguments": {"a": "1"}}),
        ("resources/read", {"uri": "a://b"}),
    ],
)
def test_three_methods_may_ask(method: str, params: dict[str, Any]) -> None:
    server = Server()
    interim = server.run(asks_for("k"), params, method=method)
    again = {**params, "inputResponses": {"k": YES}, "requestState": interim["requestState"]}
    assert server.run(asks_for("k"), again, method=method) == [YES]


def test_any_other_method_cannot() -> None:
    with pytest.raises(UsageError, match="completion/complete cannot ask the client"):
        params = {
            "ref": {"type": "ref/prompt", "name": "p"},
            "argument": {"name": "a", "value": ""},
        }
        Server().run(asks_for("k"), params, method="completion/complete")


def test_a_call_that_does_not_run_cannot_ask() -> None:
    call = Server().call(ARGUMENTS)
    with pytest.raises(UsageError, match="tools/call cannot ask the client"):
        drive(ask(call, "k"))


# -- whom a state belongs to ----------------------------------------------------------------------


def state_for(params: dict[str, Any], server: Server, **options: Any) -> str:
    state = server.run(asks_for("k"), params, **options)["requestState"]
    assert isinstance(state, str)
    return state


@pytest.mark.parametrize(
    ("params", "options"),
    [
        ({"name": "t", "arguments": {"a": 2, "b": [2]}}, {}),
        ({"name": "t", "arguments": {"a": 1.0, "b": [2]}}, {}),
        ({"name": "t", "arguments": {"a": 1}}, {}),
        ({"name": "t"}, {}),
        ({"name": "other", "arguments": ARGUMENTS["arguments"]}, {}),
        (ARGUMENTS, {"principal": "mallory"}),
        (ARGUMENTS, {"principal": None}),
        ({"name": "t", "arguments": {"a": "1", "b": "[2]"}}, {"method": "prompts/get"}),
        ({"uri": "t"}, {"method": "resources/read"}),
    ],
    ids=[
        "other value",
        "other type of number",
        "fewer arguments",
        "no arguments",
        "other tool",
        "other principal",
        "no principal",
        "other method",
        "resource",
    ],
)
def test_the_state_of_another_request_is_refused(
    params: dict[str, Any], options: dict[str, Any]
) -> None:
    server = Server()
    state = state_for(ARGUMENTS, server, principal="alice")
    server.call({**ARGUMENTS, "requestState": state}, principal="alice")
    with pytest.raises(InvalidParamsError, match="requestState is not valid"):
        server.call({**params, "requestState": state}, **{"principal": "alice", **options})


@pytest.mark.parametrize(
    "spelled",
    [
        b'{"name":"t","arguments":{"b":[2],"a":1},"requestState":"%b"}',
        b'{"requestState":"%b", "arguments" : { "a" : 1 , "b" : [ 2 ] } , "name":"t"}',
        b'{"name":"\\u0074","arguments":{"\\u0061":1,"b":[2]},"requestState":"%b"}',
    ],
    ids=["order", "whitespace", "escapes"],
)
def test_the_spelling_of_the_arguments_does_not_matter(spelled: bytes) -> None:
    server = Server()
    state = state_for(ARGUMENTS, server)
    server.call(spelled % state.encode())


@pytest.mark.parametrize("absent", [{"name": "t"}, {"name": "t", "arguments": {}}])
@pytest.mark.parametrize("given", [{"name": "t"}, {"name": "t", "arguments": {}}])
@pytest.mark.parametrize("method", ["tools/call", "prompts/get"])
def test_no_arguments_and_empty_ones_are_the_same(
    absent: dict[str, Any], given: dict[str, Any], method: str
) -> None:
    server = Server()
    state = state_for(absent, server, method=method)
    server.call({**given, "requestState": state}, method=method)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda state: state[:-1] + ("A" if state[-1] != "A" else "B"),
        lambda state: state[:40] + ("A" if state[40] != "A" else "B") + state[41:],
        lambda state: state[:-4],
        lambda state: state + "AAAA",
        lambda state: "",
        lambda state: "é",
    ],
    ids=["last", "middle", "cut", "longer", "empty", "text"],
)
def test_a_state_that_was_tampered_with_is_refused(tamper: Callable[[str], str]) -> None:
    server = Server()
    state = state_for(ARGUMENTS, server)
    with pytest.raises(InvalidParamsError, match="requestState is not valid"):
        server.call({**ARGUMENTS, "requestState": tamper(state)})


def test_a_state_expires() -> None:
    clock = Clock()
    server = Server(clock)
    state = state_for(ARGUMENTS, server)
    clock.now += LIFETIME - 1
    server.call({**ARGUMENTS, "requestState": state})
    clock.now += 1
    with pytest.raises(InvalidParamsError, match="requestState has expired"):
        server.call({**ARGUMENTS, "requestState": state})


def test_arguments_that_cannot_be_read_are_refused_before_the_state_is_opened() -> None:
    with pytest.raises(InvalidParamsError, match="Invalid params: arguments: Number out of range"):
        Server().call(b'{"name":"t","arguments":{"a":1e999},"requestState":"x"}')


def test_a_state_shows_the_client_nothing() -> None:
    server, handler = Server(), asks_for("a", "b")
    interim = server.run(handler, ARGUMENTS)
    secret = server.run(handler, retry(interim, {"a": {"secret": "hunter2"}}))["requestState"]
    assert "hunter2" not in secret


def test_two_requests_in_flight_do_not_mix_their_questions() -> None:
    async def run() -> list[Any]:
        server = Server()

        async def one(key: str) -> Any:
            call = server.call(ARGUMENTS)
            try:
                return await Run(call).of(asks_for(key)(call))
            except InputRequired as interim:
                return list(json.loads(interim.body)["inputRequests"])

        runs: list[Awaitable[Any]] = [one(key) for key in ("a", "b")]
        return await asyncio.gather(*runs)

    assert drive(run()) == [["a"], ["b"]]


def test_an_answer_is_handed_on_as_it_came() -> None:
    server, question = Server(), Ask("k", "elicitation/create", None)

    async def handler(call: Call) -> Any:
        return await call.era.ask(call, question)

    state = server.run(handler, {"name": "t"})["requestState"]
    call = server.call(
        b'{"name":"t","inputResponses":{"k":{"x" : 1.50}},"requestState":"%b"}' % state.encode()
    )
    assert call.params.meta is UNSET
    answer = drive(call.era.ask(call, question))
    assert isinstance(answer, Raw)
    assert bytes(answer) == b'{"x" : 1.50}'
