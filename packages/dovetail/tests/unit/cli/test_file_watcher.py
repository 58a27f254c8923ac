"""The files that --reload watches; test_run_http.py runs the supervisor itself."""

from __future__ import annotations

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
