"""The load: wrk, with a script that numbers the requests and reports in JSON.

wrk counts what it got and does not read it, so a turn counts only if every response had a
good status and all of them together are as long as that many right answers.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

from qa.bench.over_http.client import Template

__all__ = ["LOAD_CORE", "Load", "run_wrk", "write_script"]

LOAD_CORE = 1

# JSON's way to quote ASCII is Lua's as well.
_SCRIPT = """
local before, between, after = {before}, {between}, {after}
local id

function init(arguments)
  id = tonumber(arguments[1])
end

function request()
  id = id + 1
  local number = string.format("%d", id)
  return before .. number .. between .. number .. after
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n{{"requests":%d,"bytes":%d,"microseconds":%d,"failed":%d,"refused":%d,"p50":%d,"p99":%d}}\\n',
    summary.requests, summary.bytes, summary.duration,
    errors.connect + errors.read + errors.write + errors.timeout, errors.status,
    latency:percentile(50), latency:percentile(99)))
end
"""


class Load(NamedTuple):
    """What wrk saw."""

    requests: int
    seconds: float
    # Seconds within which half, and 99 of 100, of the answers came.
    p50: float
    p99: float


def write_script(file: Path, template: Template) -> None:
    """The script for one way of one contestant."""
    parts = {name: json.dumps(part.decode("ascii")) for name, part in template._asdict().items()}
    file.write_text(_SCRIPT.format(**parts))


def run_wrk(
    script: Path, port: int, first_id: int, connections: int, seconds: int, size: int
) -> Load:
    """One turn; `size` is the length of a right answer."""
    command = ["taskset", "-c", str(LOAD_CORE), "wrk", "--latency", "-t", "1"]
    command += ["-c", str(connections), "-d", f"{seconds}s", "-s", str(script)]
    command += [f"http://127.0.0.1:{port}/mcp", "--", str(first_id)]
    output = subprocess.check_output(command, text=True)
    seen = json.loads(output.strip().splitlines()[-1])
    if seen["failed"] or seen["refused"] or "Non-2xx" in output:
        raise AssertionError(f"answers that are none:\n{output}")
    if abs(seen["bytes"] - seen["requests"] * size) > connections * size:
        raise AssertionError(f"answers that are not {size} bytes long:\n{output}")
    if not seen["requests"]:
        raise AssertionError(f"no answers:\n{output}")
    return Load(seen["requests"], seen["microseconds"] / 1e6, seen["p50"] / 1e6, seen["p99"] / 1e6)
