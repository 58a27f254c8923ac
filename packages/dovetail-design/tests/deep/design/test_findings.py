"""The studio's pixels against fifty designs with a known flaw and fifty without any."""

from __future__ import annotations

from collections import Counter

import pytest

from dovetail_design.findings import describe
from dovetail_design.model import AnyElement
from tests.deep.design.layouts import FLAWS, clean_design, flawed_design

SEEDS = range(50)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planted_flaw_is_reported(seed: int) -> None:
    flawed = flawed_design(seed)
    reported = [
        found
        for found in describe(flawed.design).findings
        if found.code == flawed.code and set(flawed.element_ids) <= set(found.element_ids)
    ]
    assert reported, f"{flawed.code} about {flawed.element_ids}"
    assert reported[0].fix


@pytest.mark.parametrize("seed", SEEDS)
def test_a_clean_layout_has_none(seed: int) -> None:
    assert describe(clean_design(seed)).findings == ()


def test_the_flaws_cover_every_kind_and_way_many_times() -> None:
    planted = Counter(flawed_design(seed).code for seed in SEEDS)
    assert set(planted) == {code for code, _ in FLAWS}
    assert min(planted.values()) >= 10


def test_seeds_give_the_same_designs_again() -> None:
    assert flawed_design(11) == flawed_design(11)
    assert clean_design(11) == clean_design(11) != clean_design(15)


def test_a_look_at_a_large_design_stays_within_its_bound() -> None:
    """Many layouts on one canvas: hundreds of elements, each over many others."""
    crowd: list[AnyElement] = []
    for seed in range(22):
        crowd += clean_design(seed).elements
    design = clean_design(0)
    large = type(design)(width=4000, height=4000, elements=tuple(crowd))
    seen = describe(large)
    assert len(large.elements) > 250
    assert seen.findings
    assert len(seen.text("full")) <= 20_000
