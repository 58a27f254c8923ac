"""Questions of the upstream (elicitation, sampling, roots) to the caller.

    upstream  caller   how
    legacy    legacy   a request of the upstream becomes a request to the caller
    modern    legacy   `input_required` becomes requests; the call is repeated with the answers
    modern    modern   `input_required` is passed on, and so is the retry
    legacy    modern   a request becomes `input_required`; the call at the upstream is kept until
                       the retry brings the answer, to this process or to another one of its
                       cluster (`routed_calls.py`)

What a modern caller holds between two requests is sealed and bound to its principal and to the
request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.dispatch import InputRequired
from dovetail.eras.modern.era import ModernEra
from dovetail.errors import InternalError, InvalidParamsError, PeerError, RpcError
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail_gateway.forwarding import Forwarding

__all__ = [
    "CallLocation",
    "KeptCall",
    "KeptCalls",
    "ask_in_retry",
    "fit_question",
    "gone",
    "pass_on_questions",
    "read_answers",
]

# The names of what a sealed record contains.
_KEPT = "call"
_STATE = "state"


def fit_question(method: str, params: Mapping[str, Any], revision: Revision) -> bytes:
    """Return the params of a question in the form that the caller's revision has."""
    fitted = dict(params)
    if method == "elicitation/create":
        if not revision.url_elicitation and fitted.get("mode", "form") == "form":
            fitted.pop("mode", None)
        if not revision.url_elicitation_id:
            fitted.pop("elicitationId", None)
        elif fitted.get("mode") == "url":
            fitted.setdefault("elicitationId", secrets.token_hex(16))
    return codec.encode(fitted)


def pass_on_questions(
    call: Call, requests: Mapping[str, Mapping[str, Any]] | None, state: str | None
) -> InputRequired:
    """Return the `input_required` result for the one of a modern upstream."""
    asks = {
        key: Ask(key, request["method"], codec.encode(request.get("params", {})))
        for key, request in (requests or {}).items()
        if isinstance(request.get("method"), str)
    }
    if not asks and state is None:
        raise PeerError("input_required has neither questions nor a state")
    call.record.results = {} if state is None else {_STATE: Raw(codec.encode(state))}
    return InputRequired(_rounds_of(call).interim(call, asks))


async def read_answers(call: Call) -> dict[str, Any]:
    """Return the members that a retried request adds for a modern upstream."""
    record = call.record
    await _rounds_of(call).use_round(call)
    members: dict[str, Any] = {}
    if _STATE in record.results:
        members["requestState"] = record.results[_STATE]
    if record.answers:
        members["inputResponses"] = {key: each.value for key, each in record.answers.items()}
    return members


def _rounds_of(call: Call) -> Any:
    assert isinstance(call.era, ModernEra)
    return call.era.rounds


class CallLocation(Struct, array_like=True):
    """Where a call is kept, as the sealed record says it."""

    id: str
    # The process; empty outside of a cluster.
    node: str = ""


class KeptCall:
    """A call at a legacy upstream that a modern caller waits for in several requests."""

    def __init__(self, forwarding: Forwarding, owner: str | None) -> None:
        self.id: str = secrets.token_hex(8)
        self.forwarding = forwarding
        self.owner = owner
        self.running: asyncio.Task[Any] | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._asks: dict[str, Ask] = {}
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._asked = asyncio.Event()

    async def ask(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a question until a retry answers it."""
        key = f"{method.partition('/')[0]}-{secrets.token_hex(4)}"
        self._asks[key] = Ask(key, method, fit_question(method, params, call.era.revision))
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[key] = answer
        self._asked.set()
        try:
            return await answer
        finally:
            del self._answers[key], self._asks[key]

    def take(self, call: Call) -> None:
        """Continue with a retried request and its answers."""
        self.go_on(call, {key: given.value for key, given in call.record.answers.items()})

    def go_on(self, call: Call, answers: Mapping[str, Raw]) -> None:
        """Continue for this call, with these answers."""
        self.forwarding.call = call
        for key, given in answers.items():
            self.answer(key, codec.decode_as(dict[str, Any], given))

    def answer(self, key: str, given: dict[str, Any] | RpcError) -> None:
        """Pass the answer to a question on, or the refusal to answer."""
        answer = self._answers.get(key)
        if answer is None or answer.done():
            return
        if isinstance(given, RpcError):
            answer.set_exception(given)
        else:
            answer.set_result(given)

    async def outcome(self) -> dict[str, Ask] | None:
        """Wait for questions, or None if the upstream has answered the call."""
        assert self.running is not None
        # Answered questions are removed when their task continues.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        while True:
            asks = {key: self._asks[key] for key, each in self._answers.items() if not each.done()}
            if asks or self.running.done():
                return None if self.running.done() else asks
            self._asked.clear()
            asked = asyncio.ensure_future(self._asked.wait())
            try:
                await asyncio.wait({self.running, asked}, return_when="FIRST_COMPLETED")
            finally:
                asked.cancel()
            # Questions that are asked at the same time are passed on together.
            await asyncio.sleep(0)

    def end(self) -> None:
        """Give the call up."""
        if self.expiry is not None:
            self.expiry.cancel()
        if self.running is not None:
            self.running.cancel()


class KeptCalls:
    """The kept calls of a proxy, limited in number and time."""

    def __init__(self, lifetime: float, limit: int) -> None:
        self._lifetime = lifetime
        self._limit = limit
        self._calls: dict[str, KeptCall] = {}

    def __len__(self) -> int:
        return len(self._calls)

    async def find(self, call: Call) -> CallLocation | None:
        """Return where the call is kept that a request retries, None for a first request."""
        place = call.record.results.get(_KEPT)
        if place is None:
            return None
        await _rounds_of(call).use_round(call)
        return codec.decode_as(CallLocation, place)

    def take(self, id: str, owner: str | None) -> KeptCall:
        """Return a kept call to continue it; raises InvalidParamsError."""
        kept = self._calls.get(id)
        if kept is None or kept.owner != owner:
            raise gone()
        del self._calls[id]
        if kept.expiry is not None:
            kept.expiry.cancel()
        return kept

    def keep(self, kept: KeptCall) -> None:
        """Keep a call until the caller answers; raises InternalError if there are too many."""
        mine = [each for each in self._calls.values() if each.owner == kept.owner]
        if len(mine) >= self._limit:
            kept.end()
            raise InternalError(f"{self._limit} calls wait for an answer already")
        self._calls[kept.id] = kept
        loop = asyncio.get_running_loop()
        kept.expiry = loop.call_later(self._lifetime, self._expire, kept)

    def _expire(self, kept: KeptCall) -> None:
        self._calls.pop(kept.id, None)
        kept.end()

    def close(self) -> None:
        """Give all kept calls up."""
        for kept in tuple(self._calls.values()):
            self._expire(kept)


def ask_in_retry(call: Call, place: CallLocation, asks: Mapping[str, Ask]) -> InputRequired:
    """Return the result with the questions of a call that is kept."""
    call.record.results = {_KEPT: Raw(codec.encode(place))}
    return InputRequired(_rounds_of(call).interim(call, asks))


def gone() -> InvalidParamsError:
    """Return the error for the retry of a call that is not kept."""
    return InvalidParamsError(
        "requestState belongs to a call that is not kept any more; send the request again without "
        "it"
    )
