"""Transcripts as text: what a line means, and which lines hold at which revision.

    # comment; `# guards: a.b c.d` names clauses of the inventory
    server: paged                    a variant of tests/transcripts/server.py, `full` if not given
    revisions: 2024-11-05..2025-11-25   where the file runs; its folder's name if not given
    transports: stdio                all that the revision has if not given
    without: handle: why             a transport that cannot run it, and why; `http` is both parsers
    include: legacy/handshake.inc    the lines of another file, relative to this folder

    let meta = {"a": 1}              `$meta` in later lines; `$revision` is always there
    --> {"jsonrpc": "2.0", ...}      the client sends this
    --> raw: \\xff\\xfe@{[*100000}     bytes: \\xNN, \\\\ and a piece repeated so many times
    <-- {"id": 1, "result": "<any>"} the server answers with this; `<any>` is captured as `$any`
    <~~ {...}                        likewise; neighbours of this kind may come in any order
    ==> silence                      the server says nothing
    ==> close                        the client closes its end

An indented line continues the one before it. `[2025-06-18..] <-- {...}` holds at these revisions
only: that is how a body that several revisions share shows where they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from dovetail.spec.revisions import REVISIONS, Revision, find_revision

__all__ = ["FOLDER", "TRANSPORTS", "Kind", "Script", "Step", "find_scripts", "read_script"]

FOLDER = Path(__file__).parent
# In memory and on stdio all messages share one connection. `handle` and the HTTP transports run
# requests side by side; the order of their messages is not defined.
PARALLEL = ("handle", "http", "http-h11")
TRANSPORTS = ("memory", "stdio", "sse", *PARALLEL)
_HTTP = ("http", "http-h11")

_HEADERS = ("server", "revisions", "transports", "without")
_GUARD = re.compile(r"\[([\w.,! -]+)\] +(.*)")
_LET = re.compile(r"let (\w+) = (.*)")
_CLAUSES = re.compile(r"# guards: *(.*)")


class Kind(Enum):
    """What a line does."""

    LET = "let"
    SEND = "-->"
    SEND_RAW = "--> raw:"
    EXPECT = "<--"
    EXPECT_UNORDERED = "<~~"
    SILENCE = "==> silence"
    CLOSE = "==> close"


@dataclass(frozen=True)
class Step:
    """One line of a transcript, continuation lines included."""

    kind: Kind
    text: str
    path: Path
    number: int
    revisions: tuple[Revision, ...]
    name: str = ""
    transports: tuple[str, ...] = TRANSPORTS

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(FOLDER)}:{self.number}"


@dataclass
class Script:
    """One file."""

    path: Path
    server: str = "full"
    revisions: tuple[Revision, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    clauses: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.path.relative_to(FOLDER).with_suffix(""))

    def steps_at(self, revision: Revision, transport: str = "memory") -> list[Step]:
        return [
            step
            for step in self.steps
            if revision in step.revisions and transport in step.transports
        ]

    def transports_at(self, revision: Revision) -> list[str]:
        """HTTP+SSE exists at the oldest revision only."""
        is_oldest = revision is REVISIONS[0]
        return [name for name in self.transports if name != "sse" or is_oldest]


def find_scripts() -> list[Script]:
    """Every transcript there is."""
    return [read_script(path) for path in sorted(FOLDER.glob("*/*.txt"))]


def read_script(path: Path) -> Script:
    """One file, its includes in place."""
    script = Script(path)
    own = find_revision(path.parent.name)
    script.revisions = (own,) if own is not None else ()
    _read_into(script, path)
    if not script.revisions:
        raise ValueError(f"{path}: name the revisions, or move it into the folder of one")
    if len({step.kind for step in script.steps} & {Kind.SEND, Kind.SEND_RAW}) == 0:
        raise ValueError(f"{path}: nothing is sent")
    return script


def _read_into(script: Script, path: Path) -> None:
    for number, line in _logical_lines(path):
        if line.startswith("#"):
            clauses = _CLAUSES.match(line)
            script.clauses += clauses[1].split() if clauses else []
            continue
        word, _, rest = line.partition(": ")
        if word == "include":
            _read_into(script, FOLDER / rest)
        elif word in _HEADERS:
            _set_header(script, word, rest)
        else:
            script.steps.append(_read_step(path, number, line))


def _logical_lines(path: Path) -> Iterator[tuple[int, str]]:
    started, parts = 0, list[str]()
    for number, line in enumerate(path.read_text("utf-8").split("\n"), start=1):
        if line.startswith(" "):
            parts.append(line.strip())
            continue
        if parts:
            yield started, " ".join(parts)
        started, parts = number, [line] if line.strip() else []
    if parts:
        yield started, " ".join(parts)


def _set_header(script: Script, word: str, rest: str) -> None:
    if word == "server":
        script.server = rest
    elif word == "revisions":
        script.revisions = read_window(rest)
    elif word == "transports":
        script.transports = tuple(rest.split())
    else:
        names, colon, why = rest.partition(": ")
        if not colon or not why:
            raise ValueError(f"{script.path}: say why it does not run over {names}")
        left_out = read_transports(names)
        script.transports = tuple(name for name in script.transports if name not in left_out)


def _read_step(path: Path, number: int, line: str) -> Step:
    guard = _GUARD.fullmatch(line)
    revisions: tuple[Revision, ...] = REVISIONS
    transports: tuple[str, ...] = TRANSPORTS
    if guard is not None:
        line = guard[2]
        if guard[1][0].isdigit() or guard[1].startswith("."):
            revisions = read_window(guard[1])
        else:
            transports = read_transports(guard[1])
    step = _read_unguarded(path, number, line, revisions)
    return replace(step, transports=transports)


def read_transports(text: str) -> tuple[str, ...]:
    """Names of transports; `http` is both parsers, `!http` all others."""
    names = text.replace(",", " ").split()
    chosen = {name.removeprefix("!") for name in names}
    chosen |= set(_HTTP) if "http" in chosen else set()
    if not chosen <= set(TRANSPORTS):
        raise ValueError(f"{text!r} names no transport")
    is_negated = any(name.startswith("!") for name in names)
    return tuple(name for name in TRANSPORTS if (name in chosen) is not is_negated)


def _read_unguarded(path: Path, number: int, line: str, revisions: tuple[Revision, ...]) -> Step:
    let = _LET.fullmatch(line)
    if let is not None:
        return Step(Kind.LET, let[2], path, number, revisions, let[1])
    for kind in (Kind.SEND_RAW, Kind.SEND, Kind.EXPECT, Kind.EXPECT_UNORDERED):
        if line.startswith(kind.value):
            return Step(kind, line.removeprefix(kind.value).strip(), path, number, revisions)
    for kind in (Kind.SILENCE, Kind.CLOSE):
        if line == kind.value:
            return Step(kind, "", path, number, revisions)
    raise ValueError(f"{path}:{number}: what is {line!r}?")


def read_window(text: str) -> tuple[Revision, ...]:
    """`a..b`, `a..`, `..b` or `a`, ends included, or several of these with commas."""
    orders: set[int] = set()
    for part in text.split(","):
        first, dots, last = part.partition("..")
        low = _order(first, 0)
        orders.update(range(low, (_order(last, REVISIONS[-1].order) if dots else low) + 1))
    return tuple(revision for revision in REVISIONS if revision.order in orders)


def _order(date: str, default: int) -> int:
    if not date:
        return default
    revision = find_revision(date)
    if revision is None:
        raise ValueError(f"{date!r} is no revision")
    return revision.order
