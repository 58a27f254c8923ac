"""Every template that the studio ships with: sound, complete and without a fault."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import resvg_py
from PIL import Image

from dovetail_design.findings import describe
from dovetail_design.library.presets import PRESETS
from dovetail_design.library.templates import Template, list_templates
from dovetail_design.model import parse_design, to_plain
from dovetail_design.render_jobs import adapt, resize
from dovetail_design.rendering import RenderOptions, render_png, render_svg
from tests.deep.design.pictures import colour_distance, similarity

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
    plain = to_plain(template.design())
    elements = resize(plain, size.width, size.height)
    resized = {**plain, "width": size.width, "height": size.height, "elements": elements}
    assert describe(parse_design(resized)).findings == ()


ADAPTIONS = (
    ("instagram-story-event", 1080, 1080, "blue"),
    ("quote-card", 1600, 1130, "minimal"),
    ("certificate-classic", 1080, 1920, "dark"),
    ("business-card", 600, 1200, "green"),
    ("menu", 1123, 794, "vibrant orange"),
    ("youtube-thumbnail", 300, 2000, "yellow"),
)


@pytest.mark.parametrize(("id", "width", "height", "style"), ADAPTIONS)
def test_an_adapted_template_has_no_fault(id: str, width: int, height: int, style: str) -> None:
    template = next(one for one in ALL if id in one.id)
    background, elements = adapt(to_plain(template.design()), width, height, style)
    adapted = {"width": width, "height": height, "background": background, "elements": elements}
    assert describe(parse_design(adapted)).findings == ()


def write_references() -> None:
    """Draw the references anew: python -m tests.deep.design.test_templates"""
    REFERENCES.mkdir(exist_ok=True)
    for template in ALL:
        (REFERENCES / f"{template.id}.png").write_bytes(drawn(template, REFERENCE_WIDTH))


if __name__ == "__main__":
    write_references()
