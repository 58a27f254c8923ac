"""Fails unless the tests take every branch of the inner layers of `dovetail`.

usage: python -m tools.coverage_gate coverage.json     (written by `coverage json`)

The inner layers need no event loop and no socket, so every line can be tested. `make cover` shows
the coverage of the rest.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

GATED = ("dovetail/wire/", "dovetail/spec/", "dovetail/core/", "dovetail/eras/")


def find_gaps(report: Mapping[str, Any]) -> Iterator[str]:
    """One line per gated file with gaps, and per gated layer that was not measured."""
    files: Mapping[str, Any] = report["files"]
    for layer in GATED:
        inside = {path: data for path, data in files.items() if layer in _posix(path)}
        if not inside:
            yield f"{layer}: nothing was measured"
        for path, data in sorted(inside.items()):
            lines = data["missing_lines"]
            # The branches of a line that never ran are not listed again.
            branches = [pair for pair in data["missing_branches"] if pair[0] not in lines]
            gaps = [*_ranges(lines), *(f"{start}->{_exit(end)}" for start, end in branches)]
            if gaps:
                yield f"{_posix(path)}: {', '.join(gaps)}"


def main(argv: Sequence[str]) -> int:
    """Print the gaps and a summary; returns 1 if there are gaps."""
    report = json.loads(Path(argv[0]).read_text("utf-8"))
    if not report["meta"]["branch_coverage"]:
        print("coverage gate: the report was made without branches", file=sys.stderr)
        return 2
    gaps = list(find_gaps(report))
    for gap in gaps:
        print(f"not covered  {gap}", file=sys.stderr)
    verdict = f"FAILED, {len(gaps)} with gaps" if gaps else "100 %"
    layers = ", ".join(layer.removeprefix("dovetail/").rstrip("/") for layer in GATED)
    print(f"branch coverage: {layers}: {verdict}")
    return 1 if gaps else 0


def _ranges(lines: Sequence[int]) -> Iterator[str]:
    """Neighbouring lines as one range: 3, 4, 5, 9 is 3-5 and 9."""
    start = previous = None
    for line in [*sorted(lines), None]:
        if start is not None and previous is not None and line != previous + 1:
            yield str(start) if start == previous else f"{start}-{previous}"
            start = None
        start = line if start is None else start
        previous = line


def _exit(line: int) -> str:
    return "exit" if line < 0 else str(line)


def _posix(path: str) -> str:
    return path.replace("\\", "/")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
