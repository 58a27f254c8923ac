"""JSON: the report as it is, and the schema that it keeps (report.schema.json)."""

from __future__ import annotations

from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_check.report import FailOn, Report

__all__ = ["make_schema", "render"]


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Two spaces deep, in an order that stays."""
    return msgspec.json.format(codec.encode(report), indent=2).decode() + "\n"


def make_schema() -> dict[str, Any]:
    """The JSON Schema of a report, from the structs themselves."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of dovetail check",
        **msgspec.json.schema(Report),
    }
