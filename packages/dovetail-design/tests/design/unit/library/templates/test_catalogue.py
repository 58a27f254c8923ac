"""Listing and finding templates."""

from __future__ import annotations

from dovetail_design.library.templates import find_template, list_templates

TEMPLATES = list_templates()


def test_every_platform_has_a_template() -> None:
    assert len(TEMPLATES) >= 24
    for platform in ("instagram", "facebook", "twitter", "linkedin", "pinterest", "youtube"):
        assert any(platform in template.tags for template in TEMPLATES), platform


def test_templates_are_listed_by_category() -> None:
    assert {one.id for one in list_templates(" Presentation ")} >= {"slide-title", "slide-content"}
    assert list_templates("ALL") == TEMPLATES
    assert list_templates("no such") == []


def test_a_template_is_found_by_its_id() -> None:
    assert all(find_template(template.id) is template for template in TEMPLATES)
    assert find_template("no-such") is None
