"""Fails if type checkers have to infer the types of more than a few public names of `dovetail`.

usage: python -m tools.type_completeness PYRIGHT     PYRIGHT: the program
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# The rest is in modules that are about to be replaced; the goal is 0.99.
LEAST = 0.98


def main(argv: Sequence[str]) -> int:
    """Print the score, and what lacks a type if it is too low."""
    command = [*argv, "--verifytypes", "dovetail", "--ignoreexternal", "--outputjson"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, check=False
    )
    report = json.loads(done.stdout)["typeCompleteness"]
    score = report["completenessScore"]
    if score < LEAST:
        print(*sorted(set(find_untyped(report))), sep="\n")
    print(f"{score:.1%} of the public names have a known type; at least {LEAST:.0%} must")
    return 0 if score >= LEAST else 1


def find_untyped(report: Mapping[str, Any]) -> Iterator[str]:
    """The places of names without an annotation."""
    for symbol in report["symbols"]:
        for found in symbol["diagnostics"] if symbol["isExported"] else ():
            if found["severity"] == "error" and "range" in found:
                line = found["range"]["start"]["line"] + 1
                reason = found["message"].splitlines()[0]
                yield f"{found['file']}:{line}: {symbol['name']}: {reason}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
