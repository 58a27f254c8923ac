"""The template for a prompt."""

from __future__ import annotations

import pytest

from dovetail_design.generating.choosing import choose_template
from dovetail_design.library.templates import list_templates

TEMPLATES = {template.id: template for template in list_templates()}


@pytest.mark.parametrize("id", list(TEMPLATES))
def test_every_template_is_chosen_by_its_own_name(id: str) -> None:
    template = TEMPLATES[id]
    assert choose_template(template.name, template.slots).id == id


@pytest.mark.parametrize(
    ("prompt", "size", "id"),
    [
        ("a resume for a nurse", (794, 1123), "resume"),
        ("thumbnail for my new video", (1280, 720), "youtube-thumbnail"),
        ("we are hiring", (1200, 627), "linkedin-hiring"),
        ("invoice for March", None, "invoice"),
        ("pricing table menu of our cafe", None, "menu"),
    ],
)
def test_words_decide(prompt: str, size: tuple[int, int] | None, id: str) -> None:
    assert choose_template(prompt, (), size).id == id


def test_the_shape_of_the_canvas_decides_between_equals() -> None:
    tall, wide = (
        choose_template("announcement", (), (1000, 1500)),
        choose_template("announcement", (), (1600, 700)),
    )
    assert tall.width / tall.height < wide.width / wide.height


def test_a_discount_is_never_invented() -> None:
    assert "discount" not in choose_template("instagram post for our shop", ()).slots
    assert "discount" in choose_template("instagram sale 20% off", ("discount",)).slots
