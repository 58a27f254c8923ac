"""What is shown, where and inside what."""

from __future__ import annotations

from dovetail_design.findings.scene import Scene
from tests.deep.design.unit.findings.scenery import box, design, text


def test_hidden_elements_and_those_in_hidden_containers_are_left_out() -> None:
    scene = Scene.of(
        design(
            box(0, 0, 10, 10, visible=False),
            {**box(0, 0, 10, 10), "type": "container", "visible": False},
            text("In it", 0, 0, groupId="e1"),
            text("Shown", 0, 0),
        )
    )
    assert [item.id for item in scene.items] == ["e3"]


def test_the_ink_of_a_text_is_its_letters_where_they_are_aligned() -> None:
    (left, right, middle) = Scene.of(
        design(
            text("Hi", 100, 100, 400, 100),
            text("Hi", 100, 100, 400, 100, textAlign="right", verticalAlign="bottom"),
            text("Hi", 100, 100, 400, 100, textAlign="center", verticalAlign="middle"),
        )
    ).items
    assert (left.ink.left, left.ink.top) == (100, 100)
    assert (round(right.ink.right), round(right.ink.bottom)) == (500, 200)
    assert tuple(map(round, middle.ink.centre)) == (300, 150)
    assert left.ink.width < 60


def test_a_turned_element_has_the_box_around_it() -> None:
    (item,) = Scene.of(design(box(100, 100, 200, 20, rotation=90))).items
    assert [round(edge) for edge in item.bounds] == [190, 10, 210, 210]
    assert item.turn == 90


def test_children_turn_and_fade_with_their_container() -> None:
    scene = Scene.of(
        design(
            {**box(0, 0, 200, 200), "type": "container", "rotation": 180, "opacity": 0.5},
            box(0, 0, 20, 20, groupId="e0", opacity=0.5),
        )
    )
    child = scene.items[1]
    assert [round(edge) for edge in child.bounds] == [180, 180, 200, 200]
    assert child.opacity == 0.25
    assert child.container is not None and child.container.id == "e0"


def test_containers_in_containers_add_up() -> None:
    frame = {**box(0, 0, 200, 200), "type": "container", "rotation": 90, "opacity": 0.5}
    scene = Scene.of(
        design(frame, {**frame, "groupId": "e0"}, box(0, 0, 20, 20, groupId="e1", rotation=30))
    )
    inner = scene.items[2]
    assert inner.turn == 210
    assert inner.opacity == 0.25
    assert [one.id for one in inner.containers] == ["e1", "e0"]
    assert [round(edge / 5) * 5 for edge in inner.bounds] == [175, 175, 205, 205]


def test_a_container_that_is_its_own_ancestor_is_no_endless_row() -> None:
    frame = {**box(0, 0, 200, 200), "type": "container"}
    scene = Scene.of(design({**frame, "groupId": "e1"}, {**frame, "groupId": "e0"}))
    assert [len(item.containers) for item in scene.items] == [1, 1]


def test_a_flat_line_has_the_width_of_its_stroke() -> None:
    (item,) = Scene.of(
        design({"type": "line", "x": 10, "y": 50, "width": 100, "height": 0, "strokeWidth": 6})
    ).items
    assert item.bounds.height == 6


def test_elements_are_called_by_name_words_or_type() -> None:
    scene = Scene.of(
        design(text("A few words", 0, 0), box(0, 0, 9, 9, name="card"), box(0, 0, 9, 9))
    )
    assert [item.label for item in scene.items] == [
        "text 'A few words'",
        "rectangle 'card'",
        "rectangle 'e2'",
    ]
