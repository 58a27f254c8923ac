"""Fill in what the server says, for review: python -m tests.transcripts.record FILE...

Lines that hold stay as they are, placeholders included; the others are replaced by what came.
Where revisions differ the lines say so. A recorded line is no proof of anything: read it against
the page of the specification before you keep it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail.spec.revisions import Family, Revision
from tests.transcripts.matching import fill_in, find_differences, spell
from tests.transcripts.player import Player
from tests.transcripts.script import FOLDER, Kind, Script, Step, read_script
from tests.transcripts.wires import open_wire

# Seconds without a word after which the server is taken to have finished.
_QUIET = 0.12
_STARTING = 1.0
_EXPECTED = (Kind.EXPECT, Kind.EXPECT_UNORDERED)
_VOLATILE = (
    (re.compile(r"reference [0-9a-f]{8}"), "reference <reference>"),
    (re.compile(r"Parse error: JSON is malformed: [^\"]+"), "Parse error: <reason>"),
    (re.compile(r'"requestState": "[\w-]+"'), '"requestState": "<state>"'),
    (re.compile(r'"nextCursor": "[\w-]+"'), '"nextCursor": "<cursor>"'),
    (re.compile(r'"elicitationId": "[\w-]+"'), '"elicitationId": "<elicitation>"'),
    (re.compile(r'"taskId": "[\w-]{32}"'), '"taskId": "<task>"'),
    (re.compile(r'"createdAt": "[^"]+"'), '"createdAt": "<created>"'),
    (re.compile(r'"lastUpdatedAt": "[^"]+"'), '"lastUpdatedAt": "<updated>"'),
)

# The lines to write after one step.
Said = list[str]


class _Recorder(Player):
    """Plays the sending half and listens."""

    _has_spoken = False

    async def record(self, steps: list[Step]) -> dict[Step, Said]:
        said: dict[Step, Said] = {}
        for index, step in enumerate(steps):
            if step.kind is Kind.LET:
                self.names[step.name] = json.loads(fill_in(step.text, self.names))
            elif step.kind in (Kind.SEND, Kind.SEND_RAW):
                await self.send(step)
                said[step] = await self._listen(_following(steps, index))
            elif step.kind is Kind.CLOSE:
                await self.close()
                said[step] = await self._listen(_following(steps, index))
        return said

    async def _listen(self, expected: list[Step]) -> Said:
        said: Said = []
        while True:
            try:
                async with asyncio.timeout(_QUIET if self._has_spoken else _STARTING):
                    message = await self.wire.receive()
            except TimeoutError:
                return said
            if message is None:
                return said
            self._has_spoken = True
            said.append(self._written(json.loads(message), expected))

    def _written(self, message: Any, expected: list[Step]) -> str:
        for step in expected:
            names = dict(self.names)
            wanted = json.loads(fill_in(step.text, names))
            if not list(find_differences(wanted, message, names)):
                expected.remove(step)
                self.names.update(names)
                return f"{step.kind.value} {_source(step)}"
        names = {n: v for n, v in self.names.items() if n != "revision"}
        text = spell(message, names)
        if "task" in names:
            text = text.replace(json.dumps(names["task"]), '"$task"')
        for pattern, placeholder in _VOLATILE:
            text = pattern.sub(placeholder, text)
        if self.revision.family is Family.LEGACY:
            text = text.replace(f"does not exist at {self.revision}", "does not exist at $revision")
        list(
            find_differences(
                json.loads(fill_in(text, {**names, **self.names})), message, self.names
            )
        )
        return f"<-- {text}"


def _following(steps: list[Step], index: int) -> list[Step]:
    found = []
    for step in steps[index + 1 :]:
        if step.kind not in _EXPECTED:
            break
        found.append(step)
    return found


def _source(step: Step) -> str:
    lines = step.path.read_text("utf-8").split("\n")[step.number - 1 :]
    taken = [lines[0].partition(step.kind.value)[2].strip()]
    for line in lines[1:]:
        if not line.startswith(" "):
            break
        taken.append(line)
    return "\n".join(taken)


async def _record(script: Script, revision: Revision) -> dict[Step, Said]:
    async with open_wire(script.transports[0], script.server, revision) as wire:
        return await _Recorder(wire, revision).record(script.steps_at(revision))


def rewrite(path: Path) -> None:
    """Write the file again with what the server says now."""
    script = read_script(path)
    by_revision = {r: asyncio.run(_record(script, r)) for r in script.revisions}
    own = {step.number: step for step in script.steps if step.path == path}
    written: list[str] = []
    for number, block in _blocks(path):
        step = own.get(number)
        if step is None or step.kind not in _EXPECTED:
            written.append(block)
        if step is not None:
            written += _answers(step, script.revisions, by_revision)
    path.write_text("\n".join(written).rstrip("\n") + "\n", "utf-8")


def _blocks(path: Path) -> Iterator[tuple[int, str]]:
    """Each line with its continuation, and where it starts."""
    started, block = 1, list[str]()
    for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
        if block and not line.startswith(" "):
            yield started, "\n".join(block)
            started, block = number, []
        block.append(line)
    yield started, "\n".join(block)


def _answers(
    step: Step, everywhere: Sequence[Revision], by_revision: dict[Revision, dict[Step, Said]]
) -> Iterator[str]:
    said = [(revision, found[step]) for revision, found in by_revision.items() if step in found]
    if len({len(lines) for _, lines in said}) == 1:
        for at in range(len(said[0][1])):
            yield from _merged([(revision, [lines[at]]) for revision, lines in said], everywhere)
    elif said:
        yield from _merged(said, everywhere)


def _merged(said: list[tuple[Revision, Said]], everywhere: Sequence[Revision]) -> Iterator[str]:
    """Neighbouring revisions that say the same share their lines."""
    groups: list[tuple[list[Revision], Said]] = []
    for revision, lines in said:
        if groups and groups[-1][1] == lines:
            groups[-1][0].append(revision)
        else:
            groups.append(([revision], lines))
    for revisions, lines in groups:
        first, last = revisions[0].date, revisions[-1].date
        window = first if first == last else f"{first}..{last}"
        guard = f"[{window}] " if len(revisions) < len(everywhere) else ""
        yield from (guard + line for line in lines)


if __name__ == "__main__":
    logging.getLogger("dovetail").setLevel(logging.CRITICAL)
    for argument in sys.argv[1:]:
        given = Path(argument)
        rewrite((given if given.exists() else FOLDER / given).resolve())
