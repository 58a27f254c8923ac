from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
before = gc.get_threshold()[0]
from dovetail.cli.collecting import collect_seldom
assert gc.get_freeze_count() == 0
collect_seldom()
assert gc.get_freeze_count() > 1000
assert gc.get_threshold()[0] > before
assert gc.isenabled()
class Knot: pass
knot = Knot(); knot.self = knot; del knot
print(gc.collect() > 0)
"""


def test_what_is_loaded_is_left_alone_and_garbage_is_still_found() -> None:
    # In a process of its own: the setting is for all of it.
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
