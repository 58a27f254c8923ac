"""Multi round-trip requests (basic/patterns/mrtr): asking without a way to ask.

There are no server requests in this era. When a handler asks for something that is
not recorded yet, its run ends: the questions become an `input_required` result, and
the client sends the request again with the answers. The handler then runs from its
start; each `ask` that has been answered returns at once, and `ctx.once` returns what
it recorded, until the handler gets further than before.

What is recorded travels through the client in `requestState`, sealed: it is bound to
the principal, the method and the arguments, and it expires (mrtr.state-*). The run is
ended by cancelling it, which `except Exception` in a handler cannot swallow. Questions
asked together (`asyncio.gather`) go out together, because the run only ends when the
event loop has gone round twice since the first of them.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Ask, Call
from dovetail.core.dispatch import InputRequired
from dovetail.core.principal import owner_of
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
    """What travels in requestState."""

    answers: dict[str, Raw]
    results: dict[str, Raw]


class InputRounds:
    """Restores the record of a request that comes again, and ends runs that ask."""

    def __init__(self, sealer: Sealer, lifetime: float, implementation: Implementation) -> None:
        self._sealer = sealer
        self._lifetime = lifetime
        self._meta = {SERVER_INFO: msgspec.to_builtins(implementation)}
        self._pending: dict[int, dict[str, Ask]] = {}

    def restore(self, call: Call, params: InputParams) -> None:
        """Fill the record from requestState and inputResponses; raises InvalidParamsError."""
        if params.request_state is UNSET and params.input_responses is UNSET:
            return
        record = call.record
        if params.request_state is not UNSET:
            payload = self._sealer.open(params.request_state, binding=_binding(call))
            state = codec.decode_as(_State, payload)
            record.answers.update(state.answers)
            record.results.update(state.results)
        if params.input_responses is not UNSET:
            for key, answer in read_responses(params.input_responses).items():
                # The first answer counts: it may have led the handler to an effect already.
                record.answers.setdefault(key, answer)

    async def ask(self, call: Call, ask: Ask) -> Raw:
        """The recorded answer to `ask`, or the end of this run."""
        answer = call.record.answers.get(ask.key)
        if answer is not None:
            return answer
        spec = call.era.methods[call.method]
        if not spec.asks_back or not call.running:
            # mrtr.other-methods (2026-07-28 basic/patterns/mrtr)
            raise UsageError(f"{call.method} cannot ask the client for anything")
        loop = asyncio.get_running_loop()
        pending = self._pending.setdefault(id(call), {})
        if not pending:
            loop.call_soon(self._soon, call, 1)
        pending[ask.key] = ask
        # Nobody will answer it: the run is cancelled instead.
        never: asyncio.Future[Raw] = loop.create_future()
        try:
            return await never
        finally:
            # The author may have given up this question alone (asyncio.timeout, say).
            del pending[ask.key]
            if not pending:
                del self._pending[id(call)]

    def _soon(self, call: Call, turns: int) -> None:
        pending = self._pending.get(id(call))
        if pending is not None and call.interruption is None and call.running:
            # It asked in its first step, and its task has yet to go on with the second.
            asyncio.get_running_loop().call_soon(self._soon, call, turns)
            return
        if pending is None or call.interruption is None:
            return  # cancelled or timed out meanwhile
        if call.record.busy:
            # A `once` that runs right now must be recorded before the run may end.
            call.record.on_rest = partial(self._soon, call, 1)
        elif turns > 0:
            asyncio.get_running_loop().call_soon(self._soon, call, turns - 1)
        else:
            call.interruption(self._outcome(call, pending))

    def _outcome(self, call: Call, pending: dict[str, Ask]) -> Exception:
        try:
            return InputRequired(self._interim(call, pending))
        except DovetailError as error:
            return error  # what is recorded is too large to travel, say

    def _interim(self, call: Call, pending: dict[str, Ask]) -> bytes:
        requests: dict[str, Any] = {}
        for key, ask in pending.items():
            requests[key] = {"method": ask.method}
            if ask.params is not None:
                requests[key]["params"] = Raw(ask.params)
        record = call.record
        state = _State(
            # mrtr.ignore-extra: answers to questions nobody asked are not carried on
            answers={key: record.answers[key] for key in record.asked if key in record.answers},
            results=record.results,
        )
        sealed = self._sealer.seal(
            codec.encode(state), binding=_binding(call), lifetime=self._lifetime
        )
        return codec.encode(
            {
                "resultType": "input_required",
                "_meta": self._meta,
                "inputRequests": requests,
                "requestState": sealed,
            }
        )


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
    """What a state belongs to: who asked for what, with which arguments."""
    params = call.params
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
