"""The templates for a task."""

from __future__ import annotations

import pytest

from dovetail_design.generating.choosing import rank_templates
from dovetail_design.library.templates import Template, list_templates

TEMPLATES = {template.id: template for template in list_templates()}


def best(task: str, size: tuple[int, int] | None = None) -> Template:
    return rank_templates(task, list(TEMPLATES.values()), size)[0]


@pytest.mark.parametrize("id", list(TEMPLATES))
def test_every_template_is_found_by_its_own_name(id: str) -> None:
    assert best(TEMPLATES[id].name).id == id


@pytest.mark.parametrize(
    ("task", "size", "id"),
    [
        ("a resume for a nurse", (794, 1123), "resume"),
        ("thumbnail for my new video", (1280, 720), "youtube-thumbnail"),
        ("we are hiring", (1200, 627), "linkedin-hiring"),
        ("invoice for March", None, "invoice"),
        ("pricing table menu of our cafe", None, "menu"),
    ],
)
def test_words_decide(task: str, size: tuple[int, int] | None, id: str) -> None:
    assert best(task, size).id == id


def test_the_shape_of_the_canvas_decides_between_equals() -> None:
    tall, wide = best("announcement", (1000, 1500)), best("announcement", (1600, 700))
    assert tall.width / tall.height < wide.width / wide.height
