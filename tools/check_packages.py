"""Builds the wheel of each package, installs it in an empty environment and imports it.

usage: python -m tools.check_packages [NAME ...]     NAME: a folder of packages/; default: all

The packages that it requires are installed from their wheels too. `pip check` then finds libraries
that contradict each other, and the import finds those that are not declared.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PACKAGES = Path(__file__).parents[1] / "packages"
_NAME = re.compile(r"[\w.-]+")
# Only pytest imports its plugin.
_PLUGINS = {"dovetail_pytest"}


def main(argv: Sequence[str]) -> int:
    """Check the named packages, or all; returns the exit code."""
    projects = {
        file.parent.name: tomllib.loads(file.read_text("utf-8"))["project"]
        for file in sorted(_PACKAGES.glob("*/pyproject.toml"))
    }
    with tempfile.TemporaryDirectory() as folder:
        wheels = _build(projects, Path(folder))
        for name in argv or projects:
            print(f"{projects[name]['name']} ...", flush=True)
            _install(name, find_own(name, projects), wheels, Path(folder) / f"venv-{name}")
    return 0


def find_own(name: str, projects: dict[str, dict[str, Any]]) -> list[str]:
    """The package and those of this project that it requires, also indirectly."""
    folders = {project["name"]: folder for folder, project in projects.items()}
    found = [name]
    for each in found:
        required = [_NAME.match(line) for line in projects[each]["dependencies"]]
        own = [folders[match[0]] for match in required if match and match[0] in folders]
        found += [folder for folder in own if folder not in found]
    return found


def _build(projects: dict[str, dict[str, Any]], folder: Path) -> dict[str, Path]:
    wheels = {}
    for name in projects:
        into = folder / name
        _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", into, _PACKAGES / name)
        (wheels[name],) = into.glob("*.whl")
    return wheels


def _install(name: str, own: Sequence[str], wheels: dict[str, Path], folder: Path) -> None:
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    _run(python, "-m", "pip", "install", "-q", *(wheels[each] for each in own))
    _run(python, "-m", "pip", "check")
    modules = {path.parent.name for path in (_PACKAGES / name).glob("src/*/__init__.py")}
    _run(python, "-c", f"import {', '.join(modules - _PLUGINS)}")
    _run(folder / "bin" / "dovetail", "--help")


def _run(*command: str | Path) -> None:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{' '.join(map(str, command))}: exit {done.returncode}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
