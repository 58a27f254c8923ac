"""Writes the JSON Schema of a report, for the package and for the docs.

python -m tools.report_schema --write
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from dovetail.wire import codec
from dovetail_check.reports.json_form import make_schema

__all__ = ["COPIES", "schema_text"]

ROOT = Path(__file__).resolve().parents[1]
COPIES = (
    ROOT / "packages/dovetail-check/src/dovetail_check/reports/report.schema.json",
    ROOT / "docs" / "check-report.schema.json",
)


def schema_text() -> str:
    """Return the schema as formatted JSON."""
    return msgspec.json.format(codec.encode(make_schema()), indent=2).decode() + "\n"


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tools.report_schema --write")
    for copy in COPIES:
        copy.write_text(schema_text(), "utf-8")
