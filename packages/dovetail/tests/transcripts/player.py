"""Plays a transcript against a server and says where the two part."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Any

from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION, SUBSCRIPTION_ID
from dovetail.spec.revisions import LATEST_LEGACY, MODERN, Family, Revision
from tests.interop.wire_models import check_message
from tests.patience import CAP
from tests.transcripts.matching import (
    captured_names,
    explain,
    fill_in,
    find_differences,
    has_unknown_names,
)
from tests.transcripts.script import PARALLEL, Kind, Script, Step
from tests.transcripts.wires import Wire, open_wire

__all__ = ["Asked", "Player", "play", "raw_bytes"]

# Seconds to wait for a message; generous, because an answer that is due comes at once.

_ESCAPE = re.compile(rb"\\x([0-9a-f]{2})|\\(\\)|@\{(.+?)\*(\d+)\}")


class Asked:
    """The requests of a run, by the JSON of their ids: which method, and of which era."""

    def __init__(self) -> None:
        self.methods: dict[str, str] = {}
        self.modern: set[str] = set()

    def note(self, line: bytes) -> None:
        """Take note of what is sent."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        for item in message if isinstance(message, list) else [message]:
            if isinstance(item, dict) and isinstance(item.get("method"), str) and "id" in item:
                key = json.dumps(item["id"])
                self.methods[key] = item["method"]
                is_modern = PROTOCOL_VERSION in json.dumps(item.get("params"))
                (self.modern.add if is_modern else self.modern.discard)(key)


class Player:
    """One run: a wire, what has been captured, and what has been asked."""

    def __init__(self, wire: Wire, revision: Revision, *, is_ordered: bool = True) -> None:
        """Without `is_ordered`, messages that are expected in a row may come in any order."""
        self.wire = wire
        self._is_ordered = is_ordered
        self.revision = revision
        self.names: dict[str, Any] = {"revision": revision.date}
        self.asked = Asked()
        # What requests without modern metadata are answered in: before a handshake, and at a
        # modern revision, nobody speaks an old one.
        self._handshaken = LATEST_LEGACY
        self._probes = 0
        self._is_open = True

    async def run(self, steps: Iterable[Step]) -> None:
        """Every step, then the end: nothing may be left unsaid."""
        group: list[Step] = []
        for step in steps:
            is_grouped = step.kind is Kind.EXPECT_UNORDERED or (
                step.kind is Kind.EXPECT and not self._is_ordered
            )
            if group and (not is_grouped or self._depends_on(group, step)):
                await self._expect_in_any_order(group)
                group = []
            if is_grouped:
                group.append(step)
            else:
                await self._do(step)
        if group:
            await self._expect_in_any_order(group)
        await self.close()
        last = await self.receive()
        assert last is None, f"after the end of the transcript came {last!r}"

    def _depends_on(self, group: list[Step], step: Step) -> bool:
        captured = {name for earlier in group for name in captured_names(earlier.text)}
        return has_unknown_names(step.text, self.names.keys() - captured)

    async def _do(self, step: Step) -> None:
        if step.kind is Kind.LET:
            self.names[step.name] = json.loads(fill_in(step.text, self.names))
        elif step.kind in (Kind.SEND, Kind.SEND_RAW):
            await self.send(step)
        elif step.kind is Kind.EXPECT:
            await self._expect(step)
        elif step.kind is Kind.SILENCE:
            await self._expect_silence(step)
        else:
            await self.close()

    async def send(self, step: Step) -> None:
        """Send a line as it stands, references filled in."""
        text = fill_in(step.text, self.names)
        line = raw_bytes(text) if step.kind is Kind.SEND_RAW else text.encode()
        self.asked.note(line)
        await self.wire.send(line)

    async def close(self) -> None:
        """Close the client's end."""
        if self._is_open:
            self._is_open = False
            await self.wire.close()

    async def receive(self) -> Any:
        """The next message, checked against the published models; None at the end."""
        async with asyncio.timeout(CAP):
            line = await self.wire.receive()
        if line is None:
            return None
        message = json.loads(line)
        for item in message if isinstance(message, list) else [message]:
            self._check(item)
        return message

    def _check(self, message: dict[str, Any]) -> None:
        key = json.dumps(message.get("id"))
        if "method" in message:
            answered = None
            version = MODERN[-1] if SUBSCRIPTION_ID in str(message) else self.revision
        else:
            answered = self.asked.methods.get(key)
            version = MODERN[-1] if key in self.asked.modern else self._handshaken
        check_message(message, answered, version.date)
        if answered == "initialize" and "result" in message:
            self._handshaken = _or_legacy(self.revision)

    async def _expect(self, step: Step) -> None:
        expected = json.loads(fill_in(step.text, self.names))
        actual = await self._next(step, expected)
        differences = list(find_differences(expected, actual, self.names))
        assert not differences, f"{step.place}\n{explain(expected, actual, differences)}"

    async def _next(self, step: Step, expected: Any) -> Any:
        try:
            actual = await self.receive()
        except TimeoutError:
            raise AssertionError(f"{step.place}\nnothing came, expected {expected}") from None
        assert actual is not None, f"{step.place}\nthe server closed, expected {expected}"
        return actual

    async def _expect_in_any_order(self, steps: list[Step]) -> None:
        expected = [json.loads(fill_in(step.text, self.names)) for step in steps]
        for _ in steps:
            actual = await self._next(steps[0], expected)
            for candidate in expected:
                names = dict(self.names)
                if not list(find_differences(candidate, actual, names)):
                    self.names.update(names)
                    expected.remove(candidate)
                    break
            else:
                raise AssertionError(
                    f"{steps[0].place}\nnone of those left expects {actual}:\n"
                    + "\n".join(map(json.dumps, expected))
                )

    async def _expect_silence(self, step: Step) -> None:
        # A question of our own: if its answer is the next thing, nothing was said before.
        probe = self.probe()
        line = json.dumps(probe).encode()
        self.asked.note(line)
        await self.wire.send(line)
        actual = await self._next(step, "the answer to a probe")
        assert actual.get("id") == probe["id"], f"{step.place}\nexpected silence, got {actual}"

    def probe(self) -> dict[str, Any]:
        """A request that every server answers at once."""
        self._probes += 1
        probe: dict[str, Any] = {"jsonrpc": "2.0", "id": f"probe {self._probes}"}
        if self.revision.family is Family.LEGACY:
            return {**probe, "method": "ping"}
        meta = {PROTOCOL_VERSION: self.revision.date, CLIENT_CAPABILITIES: {}}
        return {**probe, "method": "server/discover", "params": {"_meta": meta}}


def _or_legacy(revision: Revision) -> Revision:
    return revision if revision.family is Family.LEGACY else LATEST_LEGACY


def raw_bytes(text: str) -> bytes:
    """The bytes of a `raw:` line."""

    def replace(found: re.Match[bytes]) -> bytes:
        byte, backslash, piece, times = found.groups()
        if byte is not None:
            return bytes.fromhex(byte.decode())
        return backslash or piece * int(times)

    return _ESCAPE.sub(replace, text.encode())


async def play(script: Script, revision: Revision, transport: str) -> None:
    """The whole script at one revision on one transport."""
    async with open_wire(transport, script.server, revision) as wire:
        player = Player(wire, revision, is_ordered=transport not in PARALLEL)
        await player.run(script.steps_at(revision, transport))
