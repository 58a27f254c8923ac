"""Text that does not fit."""

from __future__ import annotations

import msgspec

from dovetail_design.findings.measuring import overflow_of
from dovetail_design.model import Text, parse_element
from tests.deep.design.unit.findings.scenery import codes, look, text

LONG = "A rather long sentence that needs more room than it was given here. " * 3


def test_too_many_lines_are_reported_with_what_would_fit() -> None:
    (found,) = look(text(LONG, 50, 50, 300, 60))
    assert found.code == "text-overflow"
    assert "and the box has 300 x 60" in found.message
    higher = int(found.fix.split("Set height to ")[1].split(",")[0])
    assert codes(text(LONG, 50, 50, 300, higher + 1)) == []


def test_the_smaller_letters_that_are_advised_do_fit() -> None:
    (found,) = look(text(LONG, 50, 50, 300, 120))
    size = int(found.fix.split("fontSize to about ")[1].split(",")[0])
    element = parse_element(text(LONG, 50, 50, 300, 120, fontSize=size))
    assert isinstance(element, Text)
    assert overflow_of(element) is None


def test_a_word_that_is_too_long_is_reported_even_if_it_could_be_broken() -> None:
    (found,) = look(text("Unverbrüchlichkeitsversprechen", 50, 50, 150, 400))
    assert "a word is" in found.message


def test_text_that_fits_is_no_finding() -> None:
    assert codes(text("Short", 50, 50, 300, 40)) == []


def test_a_container_that_hides_what_runs_over_cuts_texts_off() -> None:
    frame = {"type": "container", "x": 50, "y": 50, "width": 200, "height": 100}
    child = text("Runs out of it", 180, 60, 300, groupId="e0")
    assert codes(frame, child) == []
    assert codes({**frame, "overflow": "hidden"}, child) == [("text-overflow", ("e1", "e0"))]


def test_padding_takes_room_away() -> None:
    plain = parse_element(text("Two words", 0, 0, 140, 40))
    assert isinstance(plain, Text)
    assert overflow_of(plain) is None
    assert overflow_of(msgspec.structs.replace(plain, padding=20)) is not None


def test_cells_that_are_cut_are_counted_and_the_first_is_named() -> None:
    cells = [
        {"row": row, "col": 0, "text": words} for row, words in enumerate(("Short", LONG, LONG))
    ]
    table = {
        "type": "table",
        "x": 10,
        "y": 10,
        "width": 300,
        "height": 200,
        "tableRows": 3,
        "tableColumns": 1,
        "tableCellData": cells,
    }
    (found,) = look(table)
    assert (found.code, found.element_ids) == ("text-overflow", ("e0",))
    assert "cuts the text of 2 cells, first 'A rather long sentence that ne...'" in found.message
    assert codes({**table, "tableCellData": cells[:1]}) == []


def test_a_word_that_is_broken_in_a_cell_is_reported() -> None:
    table = {
        "type": "table",
        "x": 10,
        "y": 10,
        "width": 200,
        "height": 200,
        "tableRows": 1,
        "tableColumns": 2,
        "tableHasHeader": False,
        "tableCellData": [{"row": 0, "col": 0, "text": "Unverbr\u00fcchlichkeit"}],
    }
    assert codes(table) == [("text-overflow", ("e0",))]
