from __future__ import annotations

import re

from dovetail_design.model import Design
from dovetail_design.rendering.pdf_file import render_pdf
from dovetail_design.rendering.render_options import RenderOptions

# What is in the pages is tested in tests/servers/design/test_rendering_files.py.


def test_a_page_has_the_size_of_the_canvas_in_points() -> None:
    data = render_pdf(Design(width=800, height=400))
    assert re.findall(rb"/MediaBox \[([^]]*)\]", data) == [b"0 0 600 300"]


def test_a_file_tells_its_title_and_no_date() -> None:
    data = render_pdf(Design(width=10, height=10), RenderOptions(title="Poster"))
    assert b"(Poster)" in data
    assert b"CreationDate" not in data and b"ModDate" not in data
