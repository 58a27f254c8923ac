"""What lies on each other by mistake, and what by intention."""

from __future__ import annotations

import pytest

from dovetail_design.library.shapes import find_shape
from tests.deep.design.unit.findings.scenery import box, codes, look, text

QR = {"type": "qr", "x": 100, "y": 100, "width": 150, "height": 150, "qrValue": "x"}
PHOTO = {"type": "image", "width": 300, "height": 200, "fill": "#336699"}


@pytest.mark.parametrize(
    "elements",
    [
        (text("One text", 100, 100), text("Another text", 120, 105)),
        (text("Behind the code", 100, 120), QR),
        (text("Under a box", 100, 100), box(90, 90, 400, 100)),
        ({**PHOTO, "x": 50, "y": 50}, {**PHOTO, "x": 250, "y": 150}),
        (QR, {**QR, "x": 180}),
        (text("Turned", 100, 300, rotation=90), text("Across it", 230, 195)),
    ],
    ids=["texts", "code", "covered", "pictures", "codes", "turned"],
)
def test_content_over_content_is_reported_with_the_lower_first(
    elements: tuple[object, ...],
) -> None:
    assert ("overlap", ("e0", "e1")) in codes(*elements)


def test_panels_with_content_of_their_own_may_not_cover_each_other() -> None:
    found = codes(
        box(50, 50, 300, 300),
        text("Left card", 70, 70, 120),
        box(250, 50, 300, 300, "#bbbbbb"),
        text("Right card", 400, 70, 140),
    )
    assert ("overlap", ("e0", "e2")) in found


@pytest.mark.parametrize(
    "elements",
    [
        (box(50, 50, 400, 200), text("On its panel", 70, 70)),
        (
            box(50, 50, 400, 200),
            {"type": "circle", "x": 60, "y": 60, "width": 80, "height": 80, "fill": "#444"},
        ),
        (text("Boxes overlap", 100, 100, 600, 60), text("but letters do not", 500, 100, 250, 60)),
        (text("Echo", 100, 100, fill="#999999"), text("Echo", 104, 104)),
        (text("Under glass", 100, 100), box(90, 90, 400, 100, "#ffffff22")),
        (
            text("Beside a frame", 200, 250, 250),
            {
                **(find_shape("frame-square") or pytest.fail()).as_element(100, 100, 500, 400),
                "fill": "#8899aa",
            },
        ),
        ({**PHOTO, "x": 50, "y": 50}, {**PHOTO, "x": 60, "y": 60, "width": 50, "height": 50}),
        ({**box(50, 50, 400, 200), "type": "container"}, text("Child", 70, 70, groupId="e0")),
        (
            text("Crossed out", 100, 100),
            {"type": "line", "x": 90, "y": 115, "width": 300, "height": 0, "stroke": "#c00"},
        ),
    ],
    ids=["panel", "badge", "letters", "echo", "glass", "frame", "inset", "child", "line"],
)
def test_intended_layering_is_no_finding(elements: tuple[object, ...]) -> None:
    assert [code for code, _ in codes(*elements) if code == "overlap"] == []


def test_the_message_says_where_and_what_would_help() -> None:
    (found,) = look(QR, {**QR, "x": 200, "y": 100})
    assert found.message == "The qr 'e0' and the qr 'e1' overlap by 50 x 150 px at 200, 100"
    assert "Move them apart by 50 px" in found.fix


def test_the_same_words_further_away_are_two_texts() -> None:
    assert codes(text("Echo echo", 100, 100), text("Echo echo", 130, 104)) == [
        ("overlap", ("e0", "e1"))
    ]


def test_a_heap_is_reported_by_its_first_few() -> None:
    heap = [text(f"Layer {number}", 100, 100) for number in range(40)]
    lowest = [found for found in codes(*heap) if found[1][0] == "e0"]
    assert [ids for _, ids in lowest] == [("e0", f"e{number}") for number in range(1, 7)]


def test_a_panel_that_sticks_out_of_its_own_container_is_meant() -> None:
    frame = {**box(50, 50, 300, 300, "#eeeeee"), "type": "container"}
    badge = box(250, 250, 200, 80, "#dddddd", groupId="e0")
    assert codes(frame, text("Inside", 60, 60, 100), badge, text("Badge", 360, 270, 80)) == []


def test_elements_without_ids_are_not_taken_for_each_other() -> None:
    star = {"type": "star", "x": 300, "y": 60, "width": 120, "height": 120, "fill": "#cccccc"}
    parts = [box(50, 50, 300, 300, "#eeeeee"), text("Inside", 60, 60, 100), star]
    assert codes(*({**part, "id": "same"} for part in parts)) == []
