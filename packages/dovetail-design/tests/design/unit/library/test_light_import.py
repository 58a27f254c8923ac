"""The library knows no graphics library: listing and searching start at once."""

from __future__ import annotations

import subprocess
import sys

_PROBE = """
import sys
from dovetail_design.library import font_catalogue, icons, pictures, presets, shapes
from dovetail_design.library import templates
from dovetail_design.generating import resizing
print("skia" in sys.modules, "PIL" in sys.modules)
"""


def test_nothing_that_draws_is_loaded() -> None:
    probe = [sys.executable, "-c", _PROBE]
    said = subprocess.run(probe, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]
