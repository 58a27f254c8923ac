"""The server on pipes: an edit of a hundred operations, and the list of ten thousand designs."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from qa.bench.piped_server import PipedServer

__all__ = ["StudioFigures", "measure_studio"]

_OPERATIONS = 100
_PAGE = 20


class StudioFigures(NamedTuple):
    """Milliseconds, in the median."""

    designs: int
    edit: float
    listing: float
    searching: float
    preview: float


def measure_studio(designs: int, rounds: int) -> StudioFigures:
    """Fill a folder with designs and work in it."""
    home = Path(tempfile.mkdtemp(prefix="dovetail-bench-design-"))
    command = [sys.executable, "-m", "dovetail", "serve", "design", "--dir", str(home)]
    try:
        with PipedServer(command) as server:
            for number in range(designs - 1):
                server.data("create_design", {"name": f"Design {number:05}"})
            edited = server.data("create_design", {"name": "The one that is edited"})["designId"]

            def edit() -> None:
                operations = [
                    {"op": "add", "element": _element(index)} for index in range(_OPERATIONS)
                ]
                server.data("clear_canvas", {"designId": edited})
                began = time.perf_counter()
                server.data("edit_design", {"designId": edited, "operations": operations})
                edits.append(time.perf_counter() - began)

            edits: list[float] = []
            for _ in range(rounds):
                edit()
            return StudioFigures(
                designs,
                statistics.median(edits) * 1000,
                _median(lambda: server.data("list_designs", {"limit": _PAGE}), rounds),
                _median(
                    lambda: server.data("list_designs", {"limit": _PAGE, "search": "Design 042"}),
                    rounds,
                ),
                _median(lambda: server.call("render_preview", {"designId": edited}), rounds),
            )
    finally:
        shutil.rmtree(home)


def _element(index: int) -> dict[str, object]:
    box = {"x": index % 10 * 100, "y": index // 10 * 100, "width": 90, "height": 90}
    return {"type": "rectangle", "fill": "#2e4057", **box}


def _median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000
