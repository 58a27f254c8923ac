"""No process of an upstream outlives its gateway."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import CAP, wait_until

# Ignores SIGTERM and the end of its input; some answer before that.
_STUBBORN = """
import json, os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if sys.argv[2] == "silent":
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
    while True:
        time.sleep(60)
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stubborn", "version": "1"},
        }
        answer = {"result": result}
    else:
        answer = {"error": {"code": -32601, "message": "unknown"}}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
    if message["method"] == "notifications/initialized":
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
while True:
    time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A killed process whose parent has gone may not have been waited for yet.
    return ") Z " not in Path(f"/proc/{pid}/stat").read_text()


@pytest.mark.parametrize("kind", ["silent", "connected"])
@pytest.mark.parametrize("signals", [1, 2])
def test_a_stubborn_upstream_ends_with_its_gateway(kind: str, signals: int, tmp_path: Path) -> None:
    child, noted = tmp_path / "stubborn.py", tmp_path / "pid"
    child.write_text(_STUBBORN)
    file = tmp_path / "gateway.toml"
    file.write_text(
        f"[upstreams.shop]\ncommand = {sys.executable!r}\n"
        f"args = [{str(child)!r}, {str(noted)!r}, {kind!r}]\n"
    )
    command = [sys.executable, "-m", "dovetail", "gateway", str(file), "--http", "127.0.0.1:0"]
    gateway = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: noted.exists() and noted.read_text())
        pid = int(noted.read_text())
        for _ in range(signals):
            gateway.send_signal(signal.SIGTERM)
        _, said = gateway.communicate(timeout=CAP)
        assert (gateway.returncode, "Traceback" in said) == (0, False), said
        wait_until(lambda: not is_running(pid))
    finally:
        gateway.kill()
