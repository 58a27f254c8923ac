"""A live stdio process survives damaged lines: 50,000 here, 200,000 in `make fuzz`.

    FUZZ_SEED=123 FUZZ_LINES=2000000 pytest tests/deep/fuzz --timeout=0 -s

The lines follow from the seed, which a failure prints.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

import pytest

from tests.deep.fuzz.mutate import HANDSHAKE, MODERN, Mutator
from tests.patience import CAP
from tests.unit.talk import request, text_of

LINES = int(os.environ.get("FUZZ_LINES", "20000"))
SEED = int(os.environ.get("FUZZ_SEED", "20260728"))
PER_WRITE = 500
# What a process may gain while it serves: caches that fill up to their limits, and fragments.
MOST_GROWTH = 10 * 1024 * 1024

_IDS = re.compile(rb'"id"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.)*"|-?\d+)')
_REQUESTS = {"elicitation/create", "sampling/createMessage", "roots/list", "ping"}


class Reader(threading.Thread):
    """Reads and judges everything that comes out."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.problems: list[str] = []
        self.ids: set[Any] = set()
        self.counts = {"results": 0, "errors": 0, "notifications": 0}
        self._awaited: dict[str, threading.Event] = {}
        self._found: dict[str, Any] = {}

    def run(self) -> None:
        for line in self._stream:
            try:
                self._judge(json.loads(line, parse_constant=_no_constant))
            except (ValueError, KeyError, TypeError) as error:
                self.problems.append(f"{error!r}: {line[:300]!r}")

    def _judge(self, message: Any) -> None:
        if message["jsonrpc"] != "2.0":
            raise ValueError("no JSON-RPC 2.0")
        if "method" in message:
            if "id" in message and message["method"] not in _REQUESTS:
                raise ValueError("a request that no server sends")
            self.counts["notifications"] += 1
            return
        kinds = message.keys() - {"jsonrpc", "id"}
        if kinds == {"error"}:
            self._judge_error(message["error"])
        elif kinds == {"result"} and isinstance(message["result"], dict):
            self.counts["results"] += 1
            if "Internal error, reference" in str(message["result"].get("content")):
                raise ValueError("a handler crashed")
        else:
            raise ValueError("neither a result nor an error")
        if "id" in message:
            self._judge_id(message)

    def _judge_error(self, error: Any) -> None:
        self.counts["errors"] += 1
        if not isinstance(error["code"], int) or not isinstance(error["message"], str):
            raise ValueError("a malformed error")
        if error["code"] == -32603:
            raise ValueError("an internal error")

    def _judge_id(self, message: Any) -> None:
        id = message["id"]
        if id in self._awaited:
            self._found[id] = message
            self._awaited[id].set()
        elif id not in self.ids:
            raise ValueError("an answer to a request that was never sent")

    def expect(self, id: str) -> None:
        """Be ready to hand out the answer to this request."""
        self._awaited[id] = threading.Event()

    def answer(self, id: str) -> Any:
        """The answer to a request that was expected."""
        assert self._awaited[id].wait(CAP), f"no answer to {id}"
        return self._found[id]


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
def test_damaged_lines_neither_end_nor_fill_nor_confuse_a_stdio_server(tmp_path: Path) -> None:
    print(f"FUZZ_SEED={SEED} FUZZ_LINES={LINES}")  # noqa: T201 - how to see it again
    log = tmp_path / "stderr"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        reader = Reader(process.stdout)
        reader.start()
        try:
            started = time.perf_counter()
            early, late = feed(process, process.stdin, reader)
            seconds = time.perf_counter() - started
            assert process.poll() is None, "the process has ended"
            process.stdin.close()
            assert process.wait(CAP) == 0
            reader.join(CAP)
        finally:
            process.kill()
    print(  # noqa: T201 - the figures
        f"{LINES} lines in {seconds:.1f} s, {reader.counts}; "
        f"{early / 2**20:.1f} MB at 20 %, {late / 2**20:.1f} MB at the end"
    )
    assert reader.problems == [], "\n".join(reader.problems[:20])
    assert "Traceback" not in log.read_text(errors="replace"), log.read_text(errors="replace")[
        :5000
    ]
    assert late - early < MOST_GROWTH


def feed(process: subprocess.Popen[bytes], stdin: IO[bytes], reader: Reader) -> tuple[int, int]:
    """Send everything; the memory of the process at a fifth of it and at the end."""

    def ask(id: str) -> Any:
        # A good request among the bad: the answer shows that all before it has been read.
        reader.expect(id)
        arguments = {"name": "add", "arguments": {"a": 20, "b": 22}}
        stdin.write(request("tools/call", arguments, id=id, revision=MODERN) + b"\n")
        stdin.flush()
        answer = reader.answer(id)
        assert text_of(answer["result"]) == "42"
        return resident(process.pid)

    mutator = Mutator(SEED)
    reader.expect("handshake")
    stdin.write(json.dumps(HANDSHAKE).encode() + b"\n")
    early = 0
    for start in range(0, LINES, PER_WRITE):
        if not early and start >= LINES // 5:
            early = ask("at a fifth")
        block = b"".join(mutator.line() + b"\n" for _ in range(min(PER_WRITE, LINES - start)))
        reader.ids.update(map(_read_id, _IDS.findall(block)))
        stdin.write(block)
    return early, ask("at the end")


def _read_id(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
