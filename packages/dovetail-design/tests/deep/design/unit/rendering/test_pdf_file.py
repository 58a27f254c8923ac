from __future__ import annotations

import re
import subprocess
import sys

import pytest

from dovetail_design.model import Design
from dovetail_design.rendering.pdf_file import raster_dpi, render_pdf
from dovetail_design.rendering.render_options import RenderOptions
from tests.patience import CAP

# What is in the pages is tested in tests/servers/design/test_rendering_files.py.


def test_a_page_has_the_size_of_the_canvas_in_points() -> None:
    data = render_pdf(Design(width=800, height=400))
    assert re.findall(rb"/MediaBox \[ ?([^]]*?) ?\]", data) == [b"0 0 600 300"]


def test_a_file_tells_its_title_and_no_date() -> None:
    data = render_pdf(Design(width=10, height=10), RenderOptions(title="Poster"))
    assert b"(Poster)" in data
    assert b"CreationDate" not in data and b"ModDate" not in data


# In a process of its own, which a dangling pointer ends.
FAILING = """
import gc
from dovetail import ToolError
from dovetail_design.model import parse_design
from dovetail_design.rendering.pdf_file import raster_dpi, render_pdf

box = {"x": 0, "y": 0, "width": 9, "height": 9}
elements = [
    {"type": "text", "id": "a", "text": "text", **box},
    {"type": "image", "id": "b", "src": "data:image/png;base64,AAAA", **box},
]
design = parse_design({"width": 500, "height": 500, "elements": elements})
for _ in range(100):
    try:
        render_pdf(design)
    except ToolError:
        gc.collect()
"""


def test_files_that_cannot_be_written_leave_no_open_document() -> None:
    done = subprocess.run([sys.executable, "-c", FAILING], timeout=CAP, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(("side", "dpi"), [(750, 216), (3_000, 144), (6_000, 72), (60_000, 7.59)])
def test_blurs_of_large_pages_have_fewer_pixels(side: float, dpi: float) -> None:
    assert raster_dpi(side, side) == pytest.approx(dpi, abs=0.01)
    assert (side * raster_dpi(side, side) / 72) ** 2 <= 40_000_001
