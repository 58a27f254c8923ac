"""A design server whose workers crash, wait or use all memory for designs with certain names.

python -c "from tests.deep.design.crashing import main; main()" serve design ...: it runs the real
server, with other functions for the workers to call.
"""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path
from typing import Any

from dovetail import cli
from dovetail_design import render_jobs
from dovetail_design.render_jobs import SmallPicture
from dovetail_design.results import WarningView

# Followed by a folder: each call waits until it can take a file out of it.
WAIT = "wait for "

_draw, _draw_small, _check = render_jobs.draw, render_jobs.draw_small, render_jobs.check


def draw(
    source: dict[str, Any], request: dict[str, Any]
) -> tuple[bytes, dict[str, str], list[WarningView]]:
    _fail(source)
    return _draw(source, request)


def draw_small(source: dict[str, Any], look: dict[str, Any], scale: float) -> SmallPicture:
    _fail(source)
    if source["state"]["name"] == "crash in previews":
        signal.raise_signal(signal.SIGSEGV)
    return _draw_small(source, look, scale)


def check(source: dict[str, Any], ids: list[str]) -> list[WarningView]:
    _fail(source)
    return _check(source, ids)


def _fail(source: dict[str, Any]) -> None:
    name = source["state"]["name"]
    if name == "crash":
        signal.raise_signal(signal.SIGSEGV)
    if name == "memory":
        bytearray(8 << 30)
    if name.startswith(WAIT):
        _wait_for_permit(Path(name.removeprefix(WAIT)))


def _wait_for_permit(folder: Path) -> None:
    while True:
        for permit in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                permit.unlink()
                return
        time.sleep(0.01)


def main() -> None:
    """Serve."""
    for function in (draw, draw_small, check):
        setattr(render_jobs, function.__name__, function)
    raise SystemExit(cli.main())
