"""An SVG badge with counts."""

from __future__ import annotations

from html import escape

from dovetail_check.report import FailOn, Report
from dovetail_check.reports.phrases import plural
from dovetail_check.verdicts import Verdict

__all__ = ["render"]

# Glyph widths of DejaVu Sans and Verdana at 11 pixels: narrow, wide, and all others.
_NARROW, _WIDE, _USUAL = 4.2, 10.0, 6.9
_PADDING = 7

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{all}">
  <title>{all}</title>
  <clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
  <g clip-path="url(#r)">
    <rect width="{left}" height="20" fill="#444b54"/>
    <rect x="{left}" width="{right}" height="20" fill="{colour}"/>
  </g>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
    <text x="{padding}" y="14" textLength="{left_text}">{name}</text>
    <text x="{right_at}" y="14" textLength="{right_text}">{counts}</text>
  </g>
</svg>
"""


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return a badge with the newest revision, failures, warnings and tested requirements."""
    name = f"MCP {report.revisions[-1]}" if report.revisions else "MCP"
    failed = sum(row.verdict is Verdict.FAIL for row in report.rows)
    warned = sum(row.verdict is Verdict.WARN for row in report.rows)
    tested = failed + warned + sum(row.verdict is Verdict.PASS for row in report.rows)
    counts = f"{failed} failed, {plural(warned, 'warning')}, {tested} tested"
    colour = "#b3261e" if failed else "#8a6100" if warned else "#2b6e3f"
    left_text, right_text = _width(name), _width(counts)
    left, right = left_text + 2 * _PADDING, right_text + 2 * _PADDING
    return _SVG.format(
        width=left + right,
        left=left,
        right=right,
        left_text=left_text,
        right_text=right_text,
        right_at=left + _PADDING,
        padding=_PADDING,
        name=escape(name),
        counts=escape(counts),
        all=escape(f"{name}: {counts}"),
        colour=colour,
    )


def _width(text: str) -> int:
    return round(
        sum(_NARROW if c in " .,-:ijl1" else _WIDE if c in "MWm" else _USUAL for c in text)
    )
