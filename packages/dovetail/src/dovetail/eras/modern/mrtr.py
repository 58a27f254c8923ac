"""Multi round-trip requests (basic/patterns/mrtr): client input without server requests.

There are no server requests in this era. When a handler asks for input that is not recorded
yet, the run ends with an `input_required` result that contains the questions, and the client
sends the request again with the answers. The handler then runs again from its start: each
answered `ask` returns at once and `ctx.once` returns its recorded value.

The record is sent to the client and back in `requestState`. It is sealed, bound to the
principal, the method and the arguments, and expires (mrtr.state-*). It contains a digest of each
question: an answer counts only for the question that the client was asked, and only once.

The run is ended by cancelling it, which `except Exception` in a handler does not catch. Concurrent
questions (`asyncio.gather`) are sent together, because the run ends two event loop iterations
after the first of them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Answer, Ask, Call
from dovetail.core.dispatch import InputRequired
from dovetail.core.principal import owner_of
from dovetail.core.replay import MemoryUsedIds, UsedIds
from dovetail.eras.modern.sealing import Sealer, binding_of
from dovetail.errors import DovetailError, InvalidParamsError, UsageError
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.models import (
    CallToolParams,
    GetPromptParams,
    Implementation,
    InputParams,
    ReadResourceParams,
)
from dovetail.wire import codec

__all__ = ["InputRounds", "read_responses"]


class _State(Struct):
    """The content of requestState."""

    # Distinguishes this round from all others.
    round: bytes
    answers: dict[str, Answer]
    # The digests of the questions that the client is asked now.
    asked: dict[str, bytes]
    results: dict[str, Raw]


class InputRounds:
    """Restores the record of a retried request, and ends runs that ask for input."""

    def __init__(
        self,
        sealer: Sealer,
        lifetime: float,
        implementation: Implementation,
    ) -> None:
        self._sealer = sealer
        self._lifetime = lifetime
        self._used: UsedIds = MemoryUsedIds()
        self._meta = {SERVER_INFO: msgspec.to_builtins(implementation)}
        self._pending: dict[int, dict[str, Ask]] = {}

    def set_store(self, store: UsedIds) -> None:
        """Use this store of used rounds instead of the memory of this process."""
        self._used = store

    def restore(self, call: Call, params: InputParams) -> None:
        """Fill the record from requestState and inputResponses; raises InvalidParamsError."""
        if params.request_state is UNSET and params.input_responses is UNSET:
            return
        responses = {}
        if params.input_responses is not UNSET:
            responses = read_responses(params.input_responses)
        if params.request_state is UNSET:
            return  # mrtr.ignore-extra: nothing was asked
        payload = self._sealer.open(params.request_state, binding=_binding(call))
        state = codec.decode_as(_State, payload)
        record = call.record
        record.results.update(state.results)
        record.answers.update(state.answers)
        # mrtr.ignore-extra: answers to questions that were not asked are dropped
        for key in state.asked.keys() & responses.keys():
            record.answers[key] = Answer(state.asked[key], responses[key])
        record.retry_id = state.round

    async def ask(self, call: Call, ask: Ask) -> Raw:
        """Return the recorded answer to `ask`, or end this run."""
        answer = call.record.answer_to(ask)
        if answer is not None:
            await self.use_round(call)
            return answer
        spec = call.era.methods[call.method]
        if not spec.asks_back or not call.phase.is_running:
            # mrtr.other-methods (2026-07-28 basic/patterns/mrtr)
            raise UsageError(f"{call.method} cannot ask the client for anything")
        loop = asyncio.get_running_loop()
        pending = self._pending.setdefault(id(call), {})
        if not pending:
            loop.call_soon(self._end_run, call, 1)
        pending[ask.key] = ask
        # Never resolved: the run is cancelled instead.
        never: asyncio.Future[Raw] = loop.create_future()
        try:
            return await never
        finally:
            # The handler may have cancelled only this question (for example asyncio.timeout).
            del pending[ask.key]
            if not pending:
                del self._pending[id(call)]

    async def use_round(self, call: Call) -> None:
        """Raise InvalidParamsError if the round was used before."""
        record = call.record
        if record.retry_id is not None and record.is_first_use is None:
            is_unused = self._used.use(record.retry_id, self._lifetime)
            # A future, because several questions may be asked at the same time.
            record.is_first_use = (
                is_unused if isinstance(is_unused, bool) else asyncio.ensure_future(is_unused)
            )
        if isinstance(record.is_first_use, asyncio.Future):
            record.is_first_use = await record.is_first_use
        if record.is_first_use is False:
            raise InvalidParamsError(
                "requestState was used before; send the request again without it"
            )

    def _end_run(self, call: Call, turns: int) -> None:
        pending = self._pending.get(id(call))
        if pending is not None and call.interruption is None and call.phase.is_running:
            # It asked in its first step, and its task has not continued yet.
            asyncio.get_running_loop().call_soon(self._end_run, call, turns)
            return
        if pending is None or call.interruption is None:
            return  # cancelled or timed out meanwhile
        if call.record.busy:
            # A running `once` must be recorded before the run may end.
            call.record.when_idle = partial(self._end_run, call, 1)
        elif turns > 0:
            asyncio.get_running_loop().call_soon(self._end_run, call, turns - 1)
        else:
            call.interruption(self._outcome(call, pending))

    def _outcome(self, call: Call, pending: dict[str, Ask]) -> Exception:
        try:
            return InputRequired(self.interim(call, pending))
        except DovetailError as error:
            return error  # for example, the record is too large

    def interim(self, call: Call, pending: Mapping[str, Ask]) -> bytes:
        """The `input_required` result that asks these questions and keeps the record."""
        requests: dict[str, Any] = {}
        for key, ask in pending.items():
            requests[key] = {"method": ask.method}
            if ask.params is not None:
                requests[key]["params"] = Raw(ask.params)
        record = call.record
        state = _State(
            round=secrets.token_bytes(16),
            # Only those that this run has asked for, so that the state does not grow.
            answers={
                key: record.answers[key]
                for key in record.asked
                if key in record.answers and key not in pending
            },
            asked={key: ask.digest for key, ask in pending.items()},
            results=record.results,
        )
        sealed = self._sealer.seal(
            codec.encode(state), binding=_binding(call), lifetime=self._lifetime
        )
        result: dict[str, Any] = {"resultType": "input_required", "_meta": self._meta}
        if requests:
            result["inputRequests"] = requests
        result["requestState"] = sealed
        return codec.encode(result)


def read_responses(raw: Raw) -> dict[str, Raw]:
    """Answers by key, each a JSON object; raises InvalidParamsError."""
    # mrtr.validate-responses (2026-07-28 basic/patterns/mrtr)
    try:
        responses = codec.decode_as(dict[str, Raw], raw)
    except msgspec.ValidationError as error:
        raise InvalidParamsError(f"Invalid params: inputResponses: {error}") from None
    for key, answer in responses.items():
        if bytes(answer)[:1] != b"{":
            raise InvalidParamsError(
                f"Invalid params: inputResponses[{key[:100]!r}] must be an object"
            )
    return responses


def _binding(call: Call) -> bytes:
    """The digest that binds a state to the principal, method, subject and arguments."""
    # A state is opened before its call is forwarded, so it is bound to what was sent.
    params = call.sent or call.received
    arguments: Any = UNSET
    if isinstance(params, CallToolParams):
        subject = params.name
        if params.arguments is not UNSET:
            arguments = _read_arguments(params.arguments)
    elif isinstance(params, GetPromptParams):
        subject = params.name
        arguments = params.arguments
    else:
        assert isinstance(params, ReadResourceParams)  # there are no other InputParams
        subject = params.uri
    return binding_of(
        (owner_of(call.principal) or "").encode(),
        call.method.encode(),
        subject.encode(),
        codec.encode_canonical({} if arguments is UNSET else arguments),
    )


def _read_arguments(raw: Raw) -> Any:
    try:
        return codec.decode_json(raw)
    except msgspec.ValidationError as error:
        raise InvalidParamsError(f"Invalid params: arguments: {error}") from None
