"""A design in words, within bounds."""

from __future__ import annotations

from dovetail_design.findings import describe
from tests.deep.design.unit.findings.scenery import box, design, text


def test_containers_hold_their_children_and_everything_has_its_number() -> None:
    written = describe(
        design(
            {**box(10, 10, 300, 200, "#eeeeee"), "type": "container", "name": "card"},
            text("Inside", 20, 20, 100, groupId="e0"),
            text("Later", 400, 200, 100, rotation=90),
        )
    ).text()
    assert written.splitlines()[0] == (
        "Canvas 800 x 600, background #ffffff, 3 elements, 0 findings."
    )
    assert "0. container 'card' #e0 (10,10 300x200) #eeeeee" in written
    assert '\n  1. text #e1 (20,20 100x60) "Inside" Inter 24' in written
    assert "[turned 90]" in written
    assert written.endswith("Findings:\n(none)")


def test_hidden_elements_are_listed_as_such() -> None:
    assert "[hidden]" in describe(design(box(0, 0, 9, 9, visible=False))).text()


def test_full_detail_shows_the_properties_and_cuts_long_ones() -> None:
    path = "M0 0 " + "L1 1 " * 100 + "Z"
    svg = {"type": "svg", "x": 0, "y": 0, "width": 9, "height": 9, "svgPath": path}
    full = describe(design(svg, text("x", 100, 100, letterSpacing=3))).text("full")
    assert "letterSpacing=3" in full
    assert "svgPath=M0 0 L1 1" in full
    assert path not in full


def test_findings_are_written_with_code_message_fix_and_ids() -> None:
    written = describe(design(box(900, 0, 9, 9))).text()
    assert "- [off-canvas] The rectangle 'e0' is outside the canvas (800 x 600)" in written
    assert "Move it onto the canvas, or delete it. (e0)" in written


def test_a_region_shows_only_what_is_there() -> None:
    seen = describe(design(text("Here", 10, 10, 90), text("There", 500, 500, 90, fill="#eeeeee")))
    near = seen.text(region=(0, 0, 200, 200))
    assert "Here" in near
    assert "There" not in near
    assert "low-contrast" in seen.text(region=(450, 450, 200, 200))


def test_it_never_grows_beyond_its_bound_and_says_what_is_missing() -> None:
    crowd = [text(f"Number {number} " * 9, number % 30, number * 3) for number in range(150)]
    seen = describe(design(*crowd))
    written = seen.text("full")
    assert len(written) <= 20_000
    assert "more elements; ask for a region" in written
    assert "more findings; ask for a region" in written
    assert len(seen.text(longest=2_000)) <= 2_000
