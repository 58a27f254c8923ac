"""The page that holds other people's claims against the inventory names rows that exist."""

from __future__ import annotations

import re
from pathlib import Path

from dovetail_check.inventory import by_id

PAGE = Path(__file__).resolve().parents[4] / "docs" / "seed-claims.md"
# The first cell of a claim, what the specification says, the rows, what is seen.
_CLAIM = re.compile(
    r"^\| (?P<claim>[^|]+) \| (?P<word>[^|]+) \| (?P<rows>[^|]*)\| (?P<seen>[^|]*)\|$"
)


def claims() -> list[re.Match[str]]:
    found = [match for line in PAGE.read_text().splitlines() if (match := _CLAIM.match(line))]
    return [match for match in found if match["claim"] != "claim" and match["claim"] != "---"]


def test_every_row_that_is_named_exists() -> None:
    named = {id for match in claims() for id in re.findall(r"`([^`]+)`", match["rows"])}
    assert named
    assert sorted(named - by_id().keys()) == []


def test_what_cannot_be_seen_is_not_testable_in_the_inventory() -> None:
    for match in claims():
        ids = re.findall(r"`([^`]+)`", match["rows"])
        if match["seen"].strip() == "no":
            assert any(by_id()[id].testable == "no" for id in ids), match["claim"]
        if match["seen"].strip() == "yes":
            assert any(by_id()[id].is_testable for id in ids), match["claim"]


def test_the_sum_of_claims_is_right() -> None:
    made = [match for match in claims() if not match["claim"].startswith("(not claimed)")]
    words = [re.split(r"[:;,]| ", match["word"])[0] for match in made]
    counts = {word: words.count(word) for word in ("yes", "weaker", "no", "client")}
    told = re.search(
        r"Of (\d+) claims (\d+) are true .* (\d+) make more .* (\d+) are in no revision, (\d+)",
        " ".join(PAGE.read_text().split()),
    )
    assert told is not None
    assert [int(number) for number in told.groups()] == [len(made), *counts.values()]
    assert len(made) == sum(counts.values())
