from __future__ import annotations

import subprocess
import sys

from tests.patience import CAP


def test_the_graphics_library_is_not_loaded_before_something_is_drawn() -> None:
    words = "import sys, dovetail_design; print({'skia', 'PIL', 'pptx'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, text=True, check=True, timeout=CAP
    )
    assert done.stdout.strip() == "set()"
