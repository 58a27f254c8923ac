"""Finds the interpreters for `make test-pythons`.

usage: python -m tools.pythons            prints the versions: 3.12 3.13
       python -m tools.pythons 3.12       prints the path of that interpreter

It looks on PATH for python3.X and in ~/.pyenv/versions.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

# `make test` runs on the oldest supported version.
FIRST_MINOR = 12
_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def list_candidates(search_path: str, home: Path) -> Iterator[Path]:
    """Files that may be interpreters, in the order of preference."""
    for folder in search_path.split(os.pathsep):
        yield from sorted(Path(folder).glob("python3.[0-9]*"))
    yield from sorted(home.glob(".pyenv/versions/*/bin/python"))


def find_pythons(candidates: Iterator[Path]) -> dict[str, Path]:
    """The first working interpreter of each version from 3.12 on."""
    found: dict[str, Path] = {}
    for path in candidates:
        version = read_version(path)
        major, _, minor = version.partition(".")
        if major == "3" and int(minor) >= FIRST_MINOR:
            found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def read_version(path: Path) -> str:
    """The version that a file reports; empty if it does not run, as unconfigured pyenv shims."""
    if not path.is_file() or not os.access(path, os.X_OK) or path.name.endswith("-config"):
        return ""
    command = [str(path), "-c", _VERSION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def main(argv: Sequence[str]) -> int:
    """Print the versions, or the path of one."""
    found = find_pythons(list_candidates(os.environ.get("PATH", ""), Path.home()))
    if not argv:
        print(*found)
        return 0
    if argv[0] not in found:
        print(f"No Python {argv[0]}; found {', '.join(found) or 'none'}", file=sys.stderr)
        return 1
    print(found[argv[0]])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
