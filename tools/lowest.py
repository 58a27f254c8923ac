"""Prints pip constraints that pin each library to the oldest version that packages allow.

usage: python -m tools.lowest packages/dovetail packages/dovetail-check > constraints.txt

Only requirements of the packages themselves are pinned; `make test-lowest` installs with them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_FLOOR = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,-]+\])?>=(?P<floor>[\w.]+)[^;]*(?P<marker>;.*)?")


def find_floors(project: dict[str, Any]) -> Iterator[str]:
    """One constraint `name==floor` per requirement; exact requirements need none."""
    table = project["project"]
    extras = table.get("optional-dependencies", {}).values()
    for requirement in (*table["dependencies"], *(item for extra in extras for item in extra)):
        found = _FLOOR.fullmatch(requirement)
        if found is not None:
            yield f"{found['name']}=={found['floor']}{found['marker'] or ''}"
        elif "==" not in requirement:
            raise SystemExit(f"{requirement!r} has no lower bound; write name>=version")


def main(argv: Sequence[str]) -> int:
    """Print the constraints of the packages in the given folders."""
    floors: set[str] = set()
    for folder in argv:
        project = tomllib.loads((Path(folder) / "pyproject.toml").read_text("utf-8"))
        floors.update(find_floors(project))
    print(*sorted(floors), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
