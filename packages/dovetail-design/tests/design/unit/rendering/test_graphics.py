from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import sys
from dovetail import UsageError
sys.modules["skia"] = None
try:
    import dovetail_design.rendering
except UsageError as error:
    print(error)
"""


def test_a_missing_library_is_told_with_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )
    assert "dovetail-design" in done.stdout
    assert "apt install libegl1 libgl1" in done.stdout
