"""Interpreters are found on PATH and in ~/.pyenv, once per version, and only those that run."""

from __future__ import annotations

from pathlib import Path

from tools.pythons import find_pythons, list_candidates


def write_interpreter(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 127\n", "utf-8")
    path.chmod(0o755)
    return path


def test_each_version_is_found_once_and_in_order(tmp_path: Path) -> None:
    on_path, home = tmp_path / "bin", tmp_path / "home"
    write_interpreter(on_path / "python3.9", "3.9")
    write_interpreter(on_path / "python3.11", "3.11")
    write_interpreter(on_path / "python3.12", "")  # a pyenv shim of a version that is not active
    thirteen = write_interpreter(on_path / "python3.13", "3.13")
    write_interpreter(on_path / "python3.13-config", "3.13")
    (on_path / "python3.14").write_text("not executable", "utf-8")
    twelve = write_interpreter(home / ".pyenv/versions/3.12.1/bin/python", "3.12")
    write_interpreter(home / ".pyenv/versions/3.13.0/bin/python", "3.13")
    write_interpreter(home / ".pyenv/versions/2.7.18/bin/python", "2.7")
    found = find_pythons(list_candidates(f"{on_path}:{tmp_path / 'none'}", home))
    assert list(found.items()) == [("3.12", twelve), ("3.13", thirteen)]
