"""Writes the icon set of the design studio from an unpacked `@phosphor-icons/core` npm package.

usage: python -m tools.icon_set FOLDER CATALOGUE

FOLDER is the package's folder; CATALOGUE is a JSON list of `{n: name, c: [categories], t: [tags]}`,
as its `dist/index.mjs` exports under other names (read it with node). The result has one line per
icon: name, categories, tags, outline of the regular and of the filled weight.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "packages/dovetail-design/src/dovetail_design/library/icons"
_PATH = re.compile(r' d="([^"]+)"')


def collect(package: Path, catalogue: Path) -> str:
    """All icons as lines of tab-separated fields, sorted by name."""
    lines = []
    for icon in sorted(json.loads(catalogue.read_text("utf-8")), key=lambda icon: str(icon["n"])):
        name = icon["n"]
        # The catalogue marks new icons with asterisks, which are not search terms.
        tags = [tag for tag in icon["t"] if not tag.startswith("*")]
        outlines = [
            " ".join(_PATH.findall((package / "assets" / weight / file).read_text("utf-8")))
            for weight, file in (("regular", f"{name}.svg"), ("fill", f"{name}-fill.svg"))
        ]
        lines.append("\t".join([name, ",".join(icon["c"]), ",".join(tags), *outlines]))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the set and its licence."""
    package, catalogue = map(Path, sys.argv[1:3])
    # No timestamp in the header, so the same icons give the same file.
    packed = gzip.compress(collect(package, catalogue).encode(), 9, mtime=0)
    (TARGET / "phosphor.tsv.gz").write_bytes(packed)
    shutil.copyfile(package / "LICENSE", TARGET / "phosphor.LICENSE")
    print(f"{len(packed):,} bytes")


if __name__ == "__main__":
    main()
