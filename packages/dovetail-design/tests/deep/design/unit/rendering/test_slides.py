from __future__ import annotations

import subprocess
import sys

from dovetail_design.model import Design
from dovetail_design.rendering.slides import render_pptx


def test_a_slide_is_a_zip() -> None:
    assert render_pptx(Design(width=100, height=100)).startswith(b"PK")


def test_the_library_for_slides_waits_for_the_first() -> None:
    script = "import sys, dovetail_design.rendering; print('pptx' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
