"""The same drawings by the server's renderer and directly; prints CPU milliseconds as JSON.

    python -m qa.bench.design.easel ROUNDS

One process and one thread; the two take turns, and no text is drawn twice.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageChops, ImageStat

from dovetail_design.model import Design, parse_element
from dovetail_design.rendering import RenderOptions, render_pdf, render_png
from qa.bench.design.directly import Direct
from qa.bench.design.drawing import A4, SQUARE, make_drawing

_PREVIEW = 512
# Of 255, in the mean over all pixels: letters may stand a pixel higher or lower.
_MOST_APART = 3.0


def to_design(drawing: list[dict[str, Any]], size: tuple[int, int]) -> Design:
    """The drawing as elements of the server."""
    return Design(
        width=size[0],
        height=size[1],
        elements=tuple(parse_element(_element(one)) for one in drawing),
    )


def _element(one: dict[str, Any]) -> dict[str, Any]:
    box = {name: one[name] for name in ("x", "y", "width", "height")}
    first, second = one["colours"]
    return {
        "rectangle": {"type": "rectangle", "fill": first, "borderRadius": 12, **box},
        "gradient": {
            "type": "rectangle",
            "fill": f"linear-gradient(90deg, {first}, {second})",
            **box,
        },
        "circle": {"type": "circle", "fill": first, **box},
        "star": {"type": "star", "fill": first, **box},
        "line": {"type": "line", "stroke": first, "strokeWidth": 4, **box},
        "text": {
            "type": "text",
            "text": one["text"],
            "fill": first,
            "fontSize": 18,
            "fontFamily": "Inter",
            **box,
        },
    }[one["kind"]]


def main(rounds: int) -> None:
    """Measure everything."""
    direct = Direct()
    _compare(direct)
    jobs: dict[str, tuple[int, tuple[int, int], Callable[..., bytes], Callable[..., bytes]]] = {
        "preview, 512 px wide, 50 elements": (
            50,
            SQUARE,
            lambda design: render_png(design, RenderOptions(max_width=_PREVIEW, is_fast=True)),
            lambda drawing: direct.png(drawing, SQUARE, _PREVIEW),
        ),
        "PNG, 1080 px, 50 elements": (
            50,
            SQUARE,
            render_png,
            lambda drawing: direct.png(drawing, SQUARE, SQUARE[0]),
        ),
        "PNG, 1080 px, 500 elements": (
            500,
            SQUARE,
            render_png,
            lambda drawing: direct.png(drawing, SQUARE, SQUARE[0]),
        ),
        "PDF, A4, 50 elements": (50, A4, render_pdf, lambda drawing: direct.pdf(drawing, A4)),
    }
    found = {name: _measure(*job, rounds=rounds) for name, job in jobs.items()}
    sys.stdout.write(json.dumps(found))


def _compare(direct: Direct) -> None:
    """A comparison of different drawings would say nothing."""
    drawing = make_drawing(50, SQUARE, 0)
    ours = render_png(to_design(drawing, SQUARE))
    theirs = direct.png(drawing, SQUARE, SQUARE[0])
    first, second = (Image.open(io.BytesIO(data)).convert("RGB") for data in (ours, theirs))
    apart = ImageStat.Stat(ImageChops.difference(first, second)).mean
    assert max(apart) < _MOST_APART, f"the drawings differ: {apart}"


def _measure(
    count: int,
    size: tuple[int, int],
    ours: Callable[..., bytes],
    theirs: Callable[..., bytes],
    *,
    rounds: int,
) -> list[float]:
    best = [float("inf"), float("inf")]
    for number in range(rounds + 1):
        drawing = make_drawing(count, size, number + 1)
        design = to_design(drawing, size)
        for place, work in ((0, lambda d=design: ours(d)), (1, lambda d=drawing: theirs(d))):
            began = time.process_time()
            assert work()
            took = (time.process_time() - began) * 1000
            # The first round loads fonts and libraries.
            best[place] = min(best[place], took) if number else best[place]
    return best


if __name__ == "__main__":
    main(int(sys.argv[1]))
