"""The same drawings in this process and in a worker; prints milliseconds as JSON.

    python -m qa.bench.design.isolation ROUNDS

Wall time, because the CPU time of a worker is not ours to read; the machine must be idle.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from dovetail_design.rendering import RenderOptions, render_pdf, render_png
from dovetail_serverkit.worker_pool import WorkerPool
from qa.bench.design.drawing import A4, SQUARE, make_drawing
from qa.bench.design.easel import to_design

_PREVIEW = 512


def do_nothing(number: int) -> bytes:
    """What a call costs by itself."""
    return b""


def draw_preview(number: int) -> bytes:
    """A preview of nine elements."""
    design = to_design(make_drawing(9, SQUARE, number), SQUARE)
    return render_png(design, RenderOptions(max_width=_PREVIEW, is_fast=True))


def draw_png(number: int) -> bytes:
    """A picture of 50 elements."""
    return render_png(to_design(make_drawing(50, SQUARE, number), SQUARE))


def draw_pdf(number: int) -> bytes:
    """A page of 50 elements."""
    return render_pdf(to_design(make_drawing(50, A4, number), A4))


_JOBS: dict[str, Callable[[int], bytes]] = {
    "nothing": do_nothing,
    "preview, 512 px wide, 9 elements": draw_preview,
    "PNG, 1080 px, 50 elements": draw_png,
    "PDF, A4, 50 elements": draw_pdf,
}


def main(rounds: int) -> None:
    """Measure each job both ways, in turns."""
    found: dict[str, Any] = {}
    with WorkerPool("Drawing", memory_mb=2048, seconds=60) as pool:
        for name, job in _JOBS.items():
            best = [float("inf"), float("inf")]
            for number in range(rounds + 1):
                for place, is_isolated in enumerate((False, True)):
                    began = time.perf_counter()
                    if is_isolated:
                        # By its importable name: this module is `__main__` here.
                        pool.run(_importable(job), number, returns=bytes)
                    else:
                        job(number)
                    took = (time.perf_counter() - began) * 1000
                    # The first round loads fonts and libraries.
                    best[place] = min(best[place], took) if number else best[place]
            found[name] = best
    sys.stdout.write(json.dumps(found))


def _importable(job: Callable[[int], bytes]) -> Callable[[int], bytes]:
    from qa.bench.design import isolation  # noqa: PLC0415 - itself, under its own name

    function: Callable[[int], bytes] = getattr(isolation, job.__name__)
    return function


if __name__ == "__main__":
    main(int(sys.argv[1]))
