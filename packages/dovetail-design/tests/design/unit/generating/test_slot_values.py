"""What goes into slots."""

from __future__ import annotations

import pytest

from dovetail_design.generating.prompt_parser import ParsedPrompt
from dovetail_design.generating.slot_values import fill_slots
from dovetail_design.library.templates import list_templates

TEMPLATES = {template.id: template for template in list_templates()}


def test_what_is_said_goes_where_it_belongs_or_to_a_neighbour() -> None:
    parsed = ParsedPrompt("", {"title": "Less, but better", "author": "Dieter Rams"})
    values, open_slots = fill_slots(TEMPLATES["quote-card"], parsed)
    assert values == {"quote": "Less, but better", "author": "Dieter Rams"}
    assert open_slots == []


def test_nothing_is_said_twice() -> None:
    values, open_slots = fill_slots(
        TEMPLATES["instagram-quote"], ParsedPrompt("", {"author": "Ada"})
    )
    assert list(values.values()).count("Ada") == 1
    assert "quote" in open_slots


@pytest.mark.parametrize("id", list(TEMPLATES))
def test_samples_are_never_used_as_if_they_were_true(id: str) -> None:
    template = TEMPLATES[id]
    values, open_slots = fill_slots(template, ParsedPrompt("", {}))
    assert set(values) == set(template.slots) == set(open_slots)
    same = {slot for slot in values if values[slot] == template.slots[slot]}
    # These say nothing that could be untrue.
    harmless = {"tagline", "quantity_1", "quantity_2", "quantity_4"}
    assert same <= harmless


def test_numbers_keep_their_form_so_that_codes_can_be_drawn() -> None:
    values, _ = fill_slots(TEMPLATES["product-label"], ParsedPrompt("", {}))
    assert values["number"] == "0000000000000"


def test_the_line_above_the_title_follows_the_prompt() -> None:
    values, _ = fill_slots(TEMPLATES["event-banner"], ParsedPrompt("a workshop on bread", {}))
    assert values["tagline"] == "Workshop"
