"""Reads and verifies the claims of a compliance document.

The front matter has one line for each requirement. The tables repeat the verdicts; if the two
differ, somebody has edited the document and it is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from dovetail.errors import UsageError
from dovetail_check.report import Report, ReportRow
from dovetail_check.verdicts import Verdict

__all__ = ["BrokenClaim", "Claims", "read_claims", "verify_claims", "write_front_matter"]

FORMAT = "1"

_FIELDS = ("date", "tool", "specification", "inventory", "transports", "offered", "calls")
_HEAD = "dovetail-compliance"
_CLAIM = re.compile(r"  ([\w.-]+): ([a-z ]+)")
_TABLE_ROW = re.compile(r"\| `([\w.-]+)` \| ([a-z ]+) \|")
_FINDINGS = (Verdict.FAIL, Verdict.WARN)


class Claims(Struct, frozen=True, kw_only=True):
    """The claims of a document, from its front matter."""

    date: str
    tool: str
    specification: str
    inventory: str
    transports: tuple[str, ...]
    offered: tuple[str, ...]
    calls: str
    rows: dict[str, Verdict]

    @classmethod
    def of(cls, report: Report) -> Claims:
        """Return the claims that a report supports."""
        return cls(
            date=report.date,
            tool=f"{report.tool.name} {report.tool.version}",
            specification=report.tool.specification,
            inventory=report.tool.inventory,
            transports=report.transports,
            offered=report.offered,
            calls=report.calls,
            rows={row.id: row.verdict for row in report.rows},
        )


class BrokenClaim(NamedTuple):
    """A claim that the new report does not confirm."""

    id: str
    claimed: Verdict
    row: ReportRow | None
    text: str


def write_front_matter(claims: Claims) -> str:
    """Return the front matter as simple YAML, which `read_claims` parses without a YAML library."""
    lines = ["---", f"{_HEAD}: {FORMAT}"]
    for name in _FIELDS:
        value = getattr(claims, name)
        text = f"[{', '.join(value)}]" if isinstance(value, tuple) else f'"{value}"'
        lines.append(f"{name}: {text}")
    lines.append("claims:")
    lines += [f"  {id}: {verdict.value}" for id, verdict in claims.rows.items()]
    return "\n".join([*lines, "---"])


def read_claims(text: str, name: str) -> Claims:
    """Parse a document; raises UsageError if it is malformed or inconsistent."""
    lines = text.split("\n---", 1)[0].splitlines()
    if lines[:2] != ["---", f"{_HEAD}: {FORMAT}"]:
        raise UsageError(
            f"{name} is not from `dovetail report`: it must start with ---, {_HEAD}: {FORMAT}"
        )
    given = dict(line.split(": ", 1) for line in lines if ": " in line and line[0] != " ")
    if missing := [field for field in _FIELDS if field not in given]:
        raise UsageError(f"{name} lacks {', '.join(missing)} in its front matter")
    rows = {found[1]: _verdict(found[2], name) for found in map(_CLAIM.fullmatch, lines) if found}
    _compare_tables(text, rows, name)
    lists = {field: _read_list(given[field]) for field in ("transports", "offered")}
    texts = {field: given[field].strip('"') for field in _FIELDS if field not in lists}
    return Claims(
        date=texts["date"],
        tool=texts["tool"],
        specification=texts["specification"],
        inventory=texts["inventory"],
        calls=texts["calls"],
        transports=lists["transports"],
        offered=lists["offered"],
        rows=rows,
    )


def _verdict(text: str, name: str) -> Verdict:
    try:
        return Verdict(text)
    except ValueError:
        known = ", ".join(verdict.value for verdict in Verdict)
        raise UsageError(
            f"{name} has the unknown verdict {text!r}; expected one of {known}"
        ) from None


def _read_list(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.strip("[]").split(", ") if part)


def _compare_tables(text: str, rows: dict[str, Verdict], name: str) -> None:
    shown = {found[1]: found[2] for found in _TABLE_ROW.finditer(text)}
    for id in {**rows, **shown}:
        claimed = rows[id].value if id in rows else "nothing"
        if shown.get(id, "nothing") != claimed:
            text = (
                f"{id} is {shown.get(id, 'nothing')} in its table and {claimed} in its front matter"
            )
            raise UsageError(f"{name} is inconsistent: {text}")


def verify_claims(claims: Claims, report: Report) -> list[BrokenClaim]:
    """Return the claims that a new report does not confirm."""
    return list(_find_broken(claims, report))


def _find_broken(claims: Claims, report: Report) -> Iterator[BrokenClaim]:
    for id, claimed in claims.rows.items():
        row = report.by_id.get(id)
        if row is None:
            if claimed is Verdict.PASS:
                yield BrokenClaim(id, claimed, None, "this requirement is no longer tested")
        elif claimed is Verdict.PASS and row.verdict is not Verdict.PASS:
            yield BrokenClaim(id, claimed, row, f"claimed pass, now {row.verdict.value}")
        elif claimed not in _FINDINGS and row.verdict in _FINDINGS:
            text = f"claimed {claimed.value}, now {row.verdict.value}"
            yield BrokenClaim(id, claimed, row, text)
