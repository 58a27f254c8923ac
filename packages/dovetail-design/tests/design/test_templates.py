"""Every template that the studio ships with: sound, complete and without a fault."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import resvg_py
from PIL import Image

from dovetail_design.findings import describe
from dovetail_design.generating.composing import compose
from dovetail_design.generating.resizing import resize
from dovetail_design.library.presets import PRESETS
from dovetail_design.library.templates import Template, list_templates
from dovetail_design.rendering import RenderOptions, render_png, render_svg
from tests.design.pictures import colour_distance, similarity

ALL = list_templates()
REFERENCES = Path(__file__).with_name("template_references")
REFERENCE_WIDTH = 240
named = pytest.mark.parametrize("template", ALL, ids=lambda template: template.id)


@named
def test_its_slots_are_its_fields_and_all_have_a_sample(template: Template) -> None:
    assert template.fields() == set(template.slots)
    assert all(value.strip() for value in template.slots.values())
    assert template.tags and template.description.endswith(".")


@named
def test_with_its_samples_nothing_is_wrong_with_it(template: Template) -> None:
    assert describe(template.design()).findings == ()


@named
def test_with_its_fields_open_only_they_are_reported(template: Template) -> None:
    values = {slot: f"{{{{{slot}}}}}" for slot in template.slots}
    barcodes = [e["barcodeValue"] for e in template.elements if e["type"] == "barcode"]
    found = describe(template.design(values)).findings
    kinds = {one.code for one in found}
    # A long name of a field may be wider than what will stand there.
    assert kinds <= {"unfilled-field", "text-overflow", "overlap", "off-canvas"}
    assert "unfilled-field" in kinds
    assert all("{{" in value for value in barcodes)


def drawn(template: Template, width: int) -> bytes:
    return render_png(template.design(), RenderOptions(max_width=width))


@named
def test_it_looks_as_its_reference(template: Template) -> None:
    reference = (REFERENCES / f"{template.id}.png").read_bytes()
    picture = drawn(template, REFERENCE_WIDTH)
    assert similarity(picture, reference) >= 0.995
    assert colour_distance(picture, reference) <= 0.5


@named
def test_another_renderer_draws_its_svg_alike(template: Template) -> None:
    markup = render_svg(template.design(), RenderOptions(text_as_paths=True)).decode()
    picture = drawn(template, 800)
    with Image.open(io.BytesIO(picture)) as opened:
        width, height = opened.size
    # Asked for a width, it rounds the height up; so the drawing itself gets the smaller size.
    full = f'width="{template.width}" height="{template.height}"'
    assert full in markup[:300]
    small = markup.replace(full, f'width="{width}" height="{height}"', 1)
    other = resvg_py.svg_to_bytes(svg_string=small)
    assert similarity(picture, bytes(other)) >= 0.97
    assert colour_distance(picture, bytes(other)) <= 4


def test_every_reference_belongs_to_a_template() -> None:
    assert {path.stem for path in REFERENCES.glob("*.png")} == {template.id for template in ALL}


@named
@pytest.mark.parametrize("preset", ["instagram-post", "instagram-story", "full-hd"])
def test_it_is_resized_without_a_fault(template: Template, preset: str) -> None:
    size = PRESETS[preset]
    resized = resize(template.design(), size.width, size.height)
    assert (resized.width, resized.height) == (size.width, size.height)
    assert describe(resized).findings == ()


PROMPTS = (
    ("Instagram post for a coffee shop grand opening on Saturday 12 May", 1080, 1080, None),
    ('Create a quote card saying "Less, but better" by Dieter Rams', 1080, 1080, "minimal"),
    ("Certificate of achievement for Maria Lopez on 4 March 2027", 1600, 1130, "elegant"),
    ("birthday party invitation for Tim, Sunday 3 June, 14:00", 1080, 1080, "blue"),
    ("YouTube thumbnail: How to bake bread", 1280, 720, "dark"),
    ("business card for Ana Silva, photographer, ana@silva.example", 1050, 600, "green"),
    ("poster for a jazz festival called Blue Nights on 21 June 2027", 794, 1123, "purple"),
    ("black friday sale 40% off everything", 1080, 1920, "vibrant red"),
    ("presentation title slide about renewable energy in Europe", 1920, 1080, "green"),
    ("LinkedIn post we are hiring a product designer in Berlin", 1200, 627, None),
    ("event ticket for The Lantern Orchestra, 21 June", 1400, 560, "teal"),
    ("webinar on secure coding by Dr Jane Doe, Thursday 8 May 17:00", 1200, 630, "pastel"),
    ("make something nice", 1000, 600, None),
    ("Wedding invitation Eva and Tom 5 September 2027", 600, 1200, "pink"),
    ("infographic about water use", 1080, 1080, "dark"),
    ("menu for restaurant Bella Vista", 1123, 794, "orange"),
    ("x", 300, 2000, "yellow"),
    ("An announcement with a title that is far too long for any headline " * 3, 1080, 1080, None),
)


@pytest.mark.parametrize(
    ("prompt", "width", "height", "style"), PROMPTS, ids=[row[0][:30] for row in PROMPTS]
)
def test_what_is_generated_has_no_fault(
    prompt: str, width: int, height: int, style: str | None
) -> None:
    made = compose(prompt, width, height, style)
    assert (made.design.width, made.design.height) == (width, height)
    assert describe(made.design).findings == ()
    assert compose(prompt, width, height, style) == made


def write_references() -> None:
    """Draw the references anew: python -m tests.design.test_templates"""
    REFERENCES.mkdir(exist_ok=True)
    for template in ALL:
        (REFERENCES / f"{template.id}.png").write_bytes(drawn(template, REFERENCE_WIDTH))


if __name__ == "__main__":
    write_references()
