from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import gc
before = gc.get_threshold()[0]
from dovetail.cli.process import tune_gc
frozen = gc.get_freeze_count()
tune_gc()
assert gc.get_freeze_count() > frozen + 1000
assert gc.get_threshold()[0] > before
assert gc.isenabled()
class Knot: pass
knot = Knot(); knot.self = knot; del knot
print(gc.collect() > 0)
"""


def test_loaded_objects_are_frozen_and_garbage_is_collected() -> None:
    # In a process of its own: the setting is for all of it.
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")
