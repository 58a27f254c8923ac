"""JSON: the report struct itself, and its JSON Schema (report.schema.json)."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_check.escaping import escape_json
from dovetail_check.report import FailOn, Report

__all__ = ["format_json", "make_schema", "render"]


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return the report as indented JSON with a stable order of keys."""
    return format_json(report)


def format_json(value: Any) -> str:
    """Return a value as indented JSON that is safe to print."""
    return escape_json(msgspec.json.format(codec.encode(value), indent=2).decode()) + "\n"


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of a report."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of dovetail check",
        **msgspec.json.schema(Report),
    }
