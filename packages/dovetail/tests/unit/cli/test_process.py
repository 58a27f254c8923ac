"""What a serving process needs: the files that --reload watches, and garbage collection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from dovetail.cli.process import take_snapshot


def write(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return str(path)


def test_a_snapshot_has_python_files_outside_environments(tmp_path: Path) -> None:
    wanted = {write(tmp_path / "server.py"), write(tmp_path / "parts" / "tools.py")}
    for name in (
        "notes.md",
        ".git/hook.py",
        "__pycache__/x.py",
        "node_modules/gyp.py",
        "env/lib/y.py",
        "env/pyvenv.cfg",
    ):
        write(tmp_path / name)
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    assert take_snapshot(tmp_path).keys() == wanted


def test_a_snapshot_changes_with_a_file(tmp_path: Path) -> None:
    file = Path(write(tmp_path / "server.py"))
    before = take_snapshot(tmp_path)
    assert take_snapshot(tmp_path) == before
    file.unlink()
    assert take_snapshot(tmp_path) != before


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
