"""A self-contained HTML page. Its script renders frames when a requirement is opened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from importlib.resources import files

from msgspec import structs

from dovetail.spec.revisions import find_revision
from dovetail.wire import codec
from dovetail_check.escaping import clean
from dovetail_check.frames import Frame
from dovetail_check.report import Coverage, Crash, FailOn, Report, ReportNote, ReportRow, RowFinding
from dovetail_check.reports.fixes import find_fix
from dovetail_check.reports.phrases import (
    FIXED_BY,
    describe_sessions,
    headline,
    level_words,
    observed_texts,
    plural,
    untested_texts,
)
from dovetail_check.verdicts import Verdict

__all__ = ["render"]

# Verdict -> CSS class, and label of its tile.
_CLASSES = {
    Verdict.FAIL: "fail",
    Verdict.WARN: "warn",
    Verdict.INFO: "info",
    Verdict.PASS: "pass",
    Verdict.ATTESTED: "attested",
    Verdict.NOT_OBSERVED: "none",
    Verdict.NOT_APPLICABLE: "none",
    Verdict.NOT_TESTABLE: "none",
}
_TILES = {
    Verdict.FAIL: "failed",
    Verdict.WARN: "warnings",
    Verdict.INFO: "info",
    Verdict.PASS: "passed",
    Verdict.ATTESTED: "attested",
    Verdict.NOT_OBSERVED: "not observed",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.NOT_TESTABLE: "not testable",
}
# The basis of a requirement, if it is not a keyword of the page.
_BASES = {
    "derived": "implied by the specification but not stated, so a violation is only a warning",
    "schema": "the schema of the revision",
    "jsonrpc": "JSON-RPC 2.0",
    "rfc": "an RFC that the page refers to",
}
_WITH_SUMMARY = (Verdict.FAIL, Verdict.WARN, Verdict.INFO)
_ORDER = list(_CLASSES)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CODE = re.compile(r"`([^`]+)`")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


def render(report: Report, fail_on: FailOn = "must") -> str:
    """Return the page."""
    owners = list(FIXED_BY)
    rows = sorted(
        report.rows, key=lambda row: (_ORDER.index(row.verdict), owners.index(row.fixed_by))
    )
    values = {
        "generator": escape(f"{report.tool.name} {report.tool.version}"),
        "title": escape(f"MCP compliance of {report.server or 'a server'}"),
        "style": _resource("page.css"),
        "script": _resource("page.js"),
        "server": escape(report.server or "Unnamed server"),
        "targets": escape(" and ".join(report.targets)),
        "headline": escape(headline(report)),
        "facts": "".join(f"<div><dt>{n}</dt><dd>{_text(v)}</dd></div>" for n, v in _facts(report)),
        "tiles": "".join(_tiles(report)),
        "coverage": "".join(map(_coverage, report.coverage)),
        "events": "".join(_events(report)),
        "verdict_options": _options(verdict.value for verdict in Verdict),
        "area_options": _options(sorted({row.area for row in report.rows}, key=str.lower)),
        "rows": "\n".join(map(_row, rows)),
        "footer": _footer(report),
        # A script element ends at the first `</`, also inside a JSON string.
        "frames": codec.encode(list(map(_visible, report.frames))).decode().replace("<", "\\u003c"),
    }
    return _PLACEHOLDER.sub(lambda found: values[found[1]], _resource("page.html"))


def _visible(frame: Frame) -> Frame:
    """The frame with unsafe characters shown as escapes, apart from line breaks."""
    if frame.text is None:
        return frame
    return structs.replace(frame, text="\n".join(map(clean, frame.text.split("\n"))))


def _text(text: str) -> str:
    """Escape a text and keep dates on one line."""
    return _DATE.sub(r'<span class="nb">\g<0></span>', escape(text))


def _resource(name: str) -> str:
    return files("dovetail_check.reports").joinpath(name).read_text("utf-8").strip()


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    yield "Supports", describe_sessions(report)
    yield "Tools called", report.calls
    yield "Checked", f"{report.date[:16].replace('T', ' ')} UTC, {report.seconds:g} s"


def _tiles(report: Report) -> Iterator[str]:
    for verdict, words in _TILES.items():
        count = report.count(verdict)
        zero = "" if count else " zero"
        yield (
            f'<button type="button" class="tile {_CLASSES[verdict]}{zero}" aria-pressed="false" '
            f'data-verdict="{verdict.value}"><b>{count}</b><span>{words}</span></button>'
        )
    if report.accepted:
        yield (f'<span class="tile none"><b>{len(report.accepted)}</b><span>accepted</span></span>')


def _coverage(coverage: Coverage) -> str:
    parts = (
        ("pass", coverage.passed, "passed"),
        ("fail", coverage.failed, "failed"),
        ("warn", coverage.warned, "warnings"),
        ("none", coverage.accepted, "accepted by the baseline"),
        ("info", coverage.info, "info"),
        ("attested", coverage.attested, "attested"),
        ("none", coverage.not_observed, "not observed"),
    )
    stack = "".join(f'<i class="{name}" style="flex:{n}"></i>' for name, n, _ in parts if n)
    legend = "".join(f'<li class="{name}">{n} {words}</li>' for name, n, words in parts if n)
    return (
        f'<div class="level"><p><strong>{coverage.level.value.upper()}</strong>: '
        f"{coverage.testable} of {coverage.rows} requirements can be tested from outside, "
        f"{coverage.applicable} apply to this server.</p>"
        f'<div class="stack" aria-hidden="true">{stack}</div><ul class="legend">{legend}</ul></div>'
    )


def _events(report: Report) -> Iterator[str]:
    if report.needs_auth:
        text = f"{escape(report.needs_auth)}. Only unauthenticated access was tested."
        yield f'<section><div class="event bad">{text}</div></section>'
    if report.crashes:
        yield "<section><h2>Crashes and floods of the server</h2>"
        yield from map(_crash, report.crashes)
        yield "</section>"
    if report.untested:
        yield "<section><h2>Not tested</h2>"
        for text in untested_texts(report):
            yield f'<div class="event bad">{escape(text)}</div>'
        yield "</section>"
    if report.differences:
        yield "<section><h2>Differences between transports</h2>"
        for difference in report.differences:
            at = f" at {difference.revision}" if difference.revision else ""
            sides = "".join(
                f"<dt>{escape(side)}</dt><dd>{escape(text)}</dd>"
                for side, text in difference.sides.items()
            )
            yield f'<div class="event">{escape(difference.what + at)}<dl>{sides}</dl></div>'
        yield "</section>"
    if report.faults:
        yield "<section><h2>Internal errors of the checker</h2>"
        for fault in report.faults:
            text = f"{escape(fault.where)}: {escape(fault.error)}"
            yield f'<div class="event bad">{text}<pre>{escape(fault.trace)}</pre></div>'
        yield "</section>"


def _crash(crash: Crash) -> str:
    bad = " bad" if crash.counts and not crash.accepted else ""
    stderr = f"<pre>{escape(crash.stderr_tail)}</pre>" if crash.stderr_tail else ""
    return (
        f'<div class="event{bad}"><strong>{escape(crash.session)}</strong>, during '
        f"<code>{escape(crash.probe)}</code>: {escape(crash.text)}{stderr}{_frames(crash.frames)}"
        "</div>"
    )


def _row(row: ReportRow) -> str:
    name = _CLASSES[row.verdict]
    accepted = " (accepted)" if row.accepted else ""
    return (
        f'<details class="row {name}" id="{escape(row.id)}" data-verdict="{row.verdict.value}" '
        f'data-level="{row.strength.value}" data-era="{" ".join(_eras(row))}" '
        f'data-area="{escape(row.area)}"><summary>'
        f'<span class="pill {name}">{row.verdict.value}{accepted}</span>'
        f'<span class="id">{escape(row.id)}</span>'
        f'<span class="what">{escape(row.paraphrase)}{_summary(row)}</span>'
        f'<span class="side"><b>{level_words(row)}</b><br>'
        f'<span class="area">{escape(row.area)}</span></span></summary>'
        f'<div class="inside">{_inside(row)}</div></details>'
    )


def _summary(row: ReportRow) -> str:
    """The first observation, for verdicts that need attention."""
    seen = observed_texts(row) if row.verdict in _WITH_SUMMARY else []
    return f'<span class="observed">{escape(seen[0])}</span>' if seen else ""


def _eras(row: ReportRow) -> list[str]:
    found = map(find_revision, row.revisions)
    return sorted({revision.family.value for revision in found if revision is not None})


def _inside(row: ReportRow) -> str:
    transport = "any transport" if row.transport == "any" else row.transport
    facts = {
        "Clause": f'<a href="{escape(row.url)}" rel="noreferrer">{escape(row.clause)}</a>',
        "Revisions": _text(f"{', '.join(row.revisions)}, over {transport}"),
        "Reason": escape(row.reason),
        "Basis": _BASES.get(row.basis, ""),
    }
    if row.verdict in (Verdict.FAIL, Verdict.WARN):
        fix = find_fix(row.id, row.fixed_by)
        facts["Fix"] = _CODE.sub(r"<code>\1</code>", escape(fix.text))
        facts["Example"] = f"<code>{escape(fix.example)}</code>" if fix.example else ""
        facts["Where"] = FIXED_BY[row.fixed_by]
    about = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items() if text)
    return f'<dl class="about">{about}</dl>{"".join(map(_finding, row.findings))}'


def _finding(finding: RowFinding) -> str:
    pill = f'<span class="pill {_CLASSES[finding.verdict]}">{finding.verdict.value}</span>'
    more = plural(finding.omitted, "more note") if finding.omitted else ""
    rest = f'<p class="more">{more} of the same kind</p>' if more else ""
    notes = "".join(map(_note, finding.notes))
    head = f"<h3>{escape(finding.session)} {pill}</h3>"
    return f'<div class="session">{head}{notes}{rest}</div>'


def _note(note: ReportNote) -> str:
    text = f"<p>{escape(note.text)}</p>" if note.text else ""
    return f'<div class="note {note.observation.name.lower()}">{text}{_frames(note.frames)}</div>'


def _frames(numbers: Iterable[int]) -> str:
    joined = " ".join(map(str, numbers))
    if not joined:
        return ""
    shown = ", ".join(f"#{number}" for number in joined.split())
    return f'<div data-frames="{joined}"><p class="more">frames {shown}</p></div>'


def _options(values: Iterable[str]) -> str:
    return "".join(f'<option value="{escape(v)}">{escape(v)}</option>' for v in values)


def _footer(report: Report) -> str:
    tool = report.tool
    return (
        "<p>A requirement passes only if the server was observed to meet it. Requirements that "
        "were not observed, do not apply or cannot be tested are counted separately.</p>"
        f"<p>Made by dovetail {escape(tool.version)}, based on the specification "
        f"({escape(tool.specification)}), inventory {escape(tool.inventory)}.</p>"
    )
