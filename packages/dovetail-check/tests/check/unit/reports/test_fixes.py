"""Every fix belongs to a requirement with a rule, and its example is what it says."""

from __future__ import annotations

import json
import re

import pytest

from dovetail_check import registry
from dovetail_check.reports import FORMATS, render
from dovetail_check.reports.fixes import FIXES, Fix, find_fix
from dovetail_check.responsibility import AUTHOR, SDK
from dovetail_check.rulebook import rules
from dovetail_check.verdicts import Observation, Verdict
from tests.check.unit.made_reports import make_report, row

registry.load()
HEADER = re.compile(r"HTTP/1\.1 \d{3} [A-Z][A-Za-z ]+|[A-Z][\w-]+: .+")


def test_every_fix_belongs_to_a_requirement_with_a_rule() -> None:
    assert sorted(FIXES.keys() - rules.keys()) == []


@pytest.mark.parametrize("id", FIXES)
def test_a_fix_is_a_sentence_and_its_example_is_json_or_http(id: str) -> None:
    fix = FIXES[id]
    assert fix.text[0].isupper() and fix.text.endswith(".")
    if fix.example.startswith(("{", "[")):
        json.loads(fix.example)
    else:
        assert not fix.example or HEADER.fullmatch(fix.example)


def test_other_requirements_have_a_general_fix_for_their_owner() -> None:
    assert "ping.removed" not in FIXES
    assert find_fix("ping.removed", SDK).text.startswith("Update the SDK")
    assert find_fix("ping.removed", AUTHOR).text.startswith("Change the server")


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "json"])
def test_every_format_for_people_says_how_to_fix_a_finding(format: str) -> None:
    known = row("ping.empty-result", Verdict.FAIL, Observation.VIOLATED, text="extra")
    fix = find_fix(known.id, known.fixed_by)
    text = " ".join(render(make_report(known), format).split())
    assert isinstance(fix, Fix)
    assert fix.text.split("`")[0] in text
    assert known.url in text
