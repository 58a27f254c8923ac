"""Descriptions are shortened to plain sentences."""

from __future__ import annotations

import pytest

from dovetail_openapi.naming import describe_operation, shorten


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain.", "Plain."),
        ("See [the docs](https://a.example/b \"t\") and **this**.", "See the docs and this."),
        ("<p>Text<br/>more</p>", "Text more"),
        ("# Heading\nFirst.\n\nSecond.", "First."),
        ("Run:\n```sh\ncurl x\n```\nThen stop.", "Run: Then stop."),
        ("a < b and c > d", "a < b and c > d"),
        ("One. " + "two " * 100, "One. " + "two " * 37 + "two…"),
        ("A sentence of some length. Another one of it. " + "x" * 300,
         "A sentence of some length. Another one of it."),
    ],
)  # fmt: skip
def test_text_is_shortened(text: str, expected: str) -> None:
    assert shorten(text) == expected
    assert len(shorten(text)) <= 160


@pytest.mark.parametrize(
    ("summary", "description", "expected"),
    [
        ("List pets", "", "List pets"),
        ("", "Lists the pets.", "Lists the pets."),
        ("List pets.", "Sorted by name.", "List pets. Sorted by name."),
        ("List pets", "List pets that are for sale.", "List pets that are for sale."),
        ("", "", "GET /pets"),
    ],
)
def test_summary_and_description_are_joined(summary: str, description: str, expected: str) -> None:
    assert describe_operation(summary, description, "GET /pets") == expected
