"""The claims of COMPLIANCE.md."""

from __future__ import annotations

import pytest
from msgspec import structs

from dovetail.errors import UsageError
from dovetail_check.documents import Claims, read_claims, verify_claims
from dovetail_check.report import Report
from dovetail_check.reports import markdown
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import ROWS, make_report, row


def now(id: str, verdict: Verdict) -> Report:
    rows = [structs.replace(one, verdict=verdict) if one.id == id else one for one in ROWS]
    return make_report(*rows)


def test_claims_are_read_back_as_they_were_written() -> None:
    report = make_report()
    assert read_claims(markdown.render(report), "C.md") == Claims.of(report)


def test_a_document_holds_against_the_report_it_was_made_from() -> None:
    report = make_report()
    assert verify_claims(Claims.of(report), report) == []


@pytest.mark.parametrize(
    ("id", "verdict"),
    [
        ("base.jsonrpc.valid", Verdict.FAIL),
        ("base.jsonrpc.valid", Verdict.NOT_OBSERVED),
        ("base.jsonrpc.valid", Verdict.NOT_APPLICABLE),
        ("prompts.capability", Verdict.FAIL),
        ("tools.capability", Verdict.WARN),
        ("sbp.rate", Verdict.FAIL),
    ],
)
def test_a_claim_that_no_longer_holds_is_reported(id: str, verdict: Verdict) -> None:
    [broken] = verify_claims(Claims.of(make_report()), now(id, verdict))
    assert (broken.id, verdict.value in broken.text) == (id, True)


@pytest.mark.parametrize(
    ("id", "verdict"),
    [("ping.empty-result", Verdict.PASS), ("prompts.capability", Verdict.PASS)],
)
def test_what_became_better_breaks_no_claim(id: str, verdict: Verdict) -> None:
    assert verify_claims(Claims.of(make_report()), now(id, verdict)) == []


def test_a_row_that_passed_and_is_gone_breaks_its_claim() -> None:
    other = make_report(row("ping.empty-result", Verdict.PASS, Observation.SATISFIED))
    [broken] = verify_claims(Claims.of(make_report()), other)
    assert (broken.id, broken.row) == ("base.jsonrpc.valid", None)


def test_a_table_that_was_edited_is_rejected() -> None:
    text = markdown.render(make_report())
    forged = text.replace("| `ping.empty-result` | fail |", "| `ping.empty-result` | pass |")
    assert forged != text
    with pytest.raises(
        UsageError, match=r"ping\.empty-result is pass in its table and fail in its front"
    ):
        read_claims(forged, "C.md")


def test_a_claim_without_a_table_row_is_rejected() -> None:
    text = markdown.render(make_report()).replace(
        "  ping.empty-result: fail\n", "  ping.empty-result: fail\n  ping.removed: pass\n"
    )
    with pytest.raises(
        UsageError, match=r"ping\.removed is nothing in its table and pass in its front"
    ):
        read_claims(text, "C.md")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A report\n", "is not from `dovetail report`"),
        ("---\ndovetail-compliance: 2\n---\n", "is not from `dovetail report`"),
        ("---\ndovetail-compliance: 1\ndate: x\n---\n", "lacks tool, specification"),
    ],
)
def test_another_document_is_rejected(text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_claims(text, "C.md")


def test_a_verdict_that_does_not_exist_is_rejected() -> None:
    text = markdown.render(make_report()).replace(": attested\n", ": splendid\n")
    with pytest.raises(UsageError, match="unknown verdict 'splendid'; expected one of fail, warn"):
        read_claims(text, "C.md")
