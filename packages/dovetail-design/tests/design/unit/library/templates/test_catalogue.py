"""Finding templates."""

from __future__ import annotations

import pytest

from dovetail_design.library.templates import (
    CATEGORIES,
    TEMPLATES,
    find_template,
    list_templates,
    search_templates,
)


def test_there_are_more_than_enough_and_every_platform_has_one() -> None:
    assert len(TEMPLATES) >= 24
    for platform in ("instagram", "facebook", "twitter", "linkedin", "pinterest", "youtube"):
        assert any(platform in template.tags for template in TEMPLATES.values()), platform


def test_categories_divide_them() -> None:
    assert sum(len(list_templates(category)) for category in CATEGORIES) == len(TEMPLATES)
    assert list_templates("ALL") == list_templates() == list(TEMPLATES.values())
    assert list_templates("no such") == []


@pytest.mark.parametrize(
    ("query", "first"),
    [("invoice", "invoice"), ("cv", "resume"), ("wedding", "invitation-wedding")],
)
def test_a_template_is_found_by_words(query: str, first: str) -> None:
    assert search_templates(query)[0].id == first
    assert find_template(first) is TEMPLATES[first]
