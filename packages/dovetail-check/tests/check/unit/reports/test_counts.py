"""The formats agree on counts, show every violation, and group findings by who can fix them."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner
from msgspec import structs

from dovetail.cli.app import app
from dovetail_check import registry
from dovetail_check.baseline import Accepted, Baseline, apply_baseline
from dovetail_check.compiling import _make_row
from dovetail_check.inventory import by_id
from dovetail_check.judging import Finding, RowReport
from dovetail_check.report import FAIL_ON, Report, Untested, count_coverage
from dovetail_check.reports import FORMATS, html_page, json_form, markdown, render, text
from dovetail_check.reports.phrases import headline
from dovetail_check.responsibility import AUTHOR, SDK, responsible_for
from dovetail_check.rulebook import rules
from dovetail_check.verdicts import Verdict, ambiguous, satisfied, violated
from tests.check.unit.made_reports import CRASH, FAULT, HTTP, STDIO, make_report

registry.load()
SHORT = ("base.jsonrpc.valid", "tools.name.charset", "tools.inputschema.valid", "base.icons.src")


def failed(id: str, count: int) -> RowReport:
    notes = tuple(violated(None, f"violation {n}") for n in range(count)) + (satisfied(),) * 9
    row = by_id()[id]
    verdict = Verdict.WARN if row.is_derived or row.strength.value == "should" else Verdict.FAIL
    findings = tuple(Finding(session, verdict, notes) for session in (HTTP, STDIO))
    return RowReport(row, verdict, findings)


def made(*judged: RowReport) -> Report:
    rows = tuple(map(_make_row, judged))
    return make_report(*rows, coverage=count_coverage(rows))


def test_explain_shows_the_violations_that_the_text_leaves_out(tmp_path: Path) -> None:
    report = made(failed("base.jsonrpc.valid", 25))
    printed = text.render(report)
    assert "and 22 more: dovetail explain base.jsonrpc.valid REPORT.json" in printed
    path = tmp_path / "report.json"
    path.write_text(json_form.render(report), "utf-8")
    shown = CliRunner().invoke(app, ["explain", "base.jsonrpc.valid", str(path)], obj=[]).stdout
    assert all(f"violation {n}\n" in shown for n in range(25))


def test_summary_table_and_page_have_the_same_counts() -> None:
    report = made(
        *(failed(id, 1) for id in SHORT), RowReport(by_id()["ping.empty-result"], Verdict.PASS)
    )
    report = apply_baseline(
        report, Baseline(accepted=(Accepted("base.jsonrpc.valid", (HTTP, STDIO)),))
    )
    counts = {
        verdict: report.count(verdict) for verdict in (Verdict.FAIL, Verdict.WARN, Verdict.PASS)
    }
    assert counts == {Verdict.FAIL: 1, Verdict.WARN: 2, Verdict.PASS: 1}
    summary = text.render(report).splitlines()[-2:]
    assert "1 failed, 2 warnings, 1 accepted by the baseline" in " ".join(summary)
    assert sum(level.failed for level in report.coverage) == 1
    assert sum(level.warned for level in report.coverage) == 2
    assert sum(level.accepted for level in report.coverage) == 1
    assert sum(level.passed for level in report.coverage) == 1
    page = html_page.render(report)
    tiles = dict(re.findall(r'data-verdict="([a-z ]+)"><b>(\d+)</b>', page))
    assert (tiles["fail"], tiles["warn"], tiles["pass"]) == ("1", "2", "1")


def test_findings_are_grouped_by_who_can_fix_them() -> None:
    report = made(*(failed(id, 1) for id in SHORT))
    printed = text.render(report)
    yours, sdks = printed.split("In the protocol layer, which your SDK implements")
    assert "In your server (1 failed, 2 warnings):" in yours
    assert "FAIL  tools.inputschema.valid" in yours
    assert "base.jsonrpc.valid" in sdks
    assert "base.jsonrpc.valid" not in yours
    document = markdown.render(report)
    assert document.index("`tools.inputschema.valid`") < document.index(
        "`base.jsonrpc.valid`: fail"
    )
    assert "which your SDK implements" in html_page.render(report)


def test_every_rule_belongs_to_somebody() -> None:
    owners = {id: responsible_for(id) for id in rules}
    assert set(owners.values()) == {AUTHOR, SDK}
    assert owners["tools.name.unique"] == AUTHOR
    assert owners["http.origin.403"] == AUTHOR
    assert owners["tools.name.case"] == SDK
    assert owners["stdio.stdout-pure"] == SDK


def test_the_headline_comes_first_and_agrees_with_the_counts() -> None:
    report = made(*(failed(id, 1) for id in SHORT))
    verdict = "Not compliant: the server violates 2 MUST requirements; 2 warnings."
    assert (report.count(Verdict.FAIL), report.count(Verdict.WARN)) == (2, 2)
    printed = text.render(report)
    assert printed.splitlines()[2] == verdict
    assert "✗ 2 failed, 2 warnings;" in printed
    assert f"**{verdict}**" in markdown.render(report)
    assert f'<p class="headline">{verdict}</p>' in html_page.render(report)


def test_the_headline_says_what_was_tested() -> None:
    passed = made(RowReport(by_id()["ping.empty-result"], Verdict.PASS))
    assert headline(passed) == "No violations in 1 tested requirement."
    assert headline(made(failed("tools.name.charset", 1))) == (
        "No violated MUST requirement; 1 warning."
    )
    locked = make_report(*passed.rows, needs_auth="401")
    assert headline(locked) == "Incomplete: only unauthenticated access was tested."
    broken = make_report(*passed.rows, faults=(FAULT,))
    assert headline(broken) == "Incomplete: the checker had 1 internal error."
    crashed = make_report(*passed.rows, crashes=(CRASH, CRASH))
    assert headline(crashed) == "Not compliant: the server crashed 2 times."
    assert "(2 times)" in text.render(crashed)


def test_a_derived_requirement_is_marked_because_it_only_warns() -> None:
    assert "WARN  tools.call.unknown  MUST (derived)" in text.render(
        made(failed("tools.call.unknown", 1))
    )


def test_a_flood_and_what_was_not_tested_are_named_in_every_format() -> None:
    flood = structs.replace(CRASH, is_flood=True, text="the server sent too much")
    rest = Untested("stdio 2025-11-25", "the time limit has passed", ("ping", "walk"))
    report = make_report(crashes=(flood,), untested=(rest,))
    assert "sent more than the checker keeps once" in headline(report)
    assert headline(report).endswith("; not everything was tested.")
    sentence = "Incomplete: the time limit has passed."
    assert headline(structs.replace(report, rows=(), crashes=())) == sentence
    assert report.findings("must") == report.count(*FAIL_ON["must"]) + 2
    assert report.findings("never") == 0
    for format in FORMATS:
        shown = " ".join(render(report, format).split())
        assert "the time limit has passed" in shown, format
        assert "ping" in shown, format


def test_text_explains_only_the_notes_that_an_author_can_act_on() -> None:
    rows = [
        RowReport(
            by_id()[id],
            Verdict.INFO,
            (Finding(HTTP, Verdict.INFO, (ambiguous(None, f"a note on {id}"),)),),
        )
        for id in ("logging2.deprecated", "tools.name.charset")
    ]
    shown = " ".join(text.render(made(*rows)).split())
    assert "tools.name.charset: a note on tools.name.charset" in shown
    assert "which your SDK decides: logging2.deprecated" in shown
    assert "a note on logging2.deprecated" not in shown
