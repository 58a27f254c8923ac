from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design import render_jobs
from dovetail_design.fonts.bundled import bundled_faces
from dovetail_design.library.pictures import list_pictures
from dovetail_design.library.templates import find_template
from dovetail_design.model import to_plain

SIGNATURES = {
    "png": b"\x89PNG",
    "jpg": b"\xff\xd8\xff",
    "webp": b"RIFF",
    "pdf": b"%PDF",
    "svg": b"<",
    "pptx": b"PK",
}


def source(*elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A design as a worker receives it."""
    place = {"x": 10, "y": 10, "width": 100, "height": 50}
    numbered = [{"id": f"e{n}", **place, **one} for n, one in enumerate(elements)]
    state = {"name": "A", "width": 200, "height": 100, "elements": numbered}
    return {"state": state, "pictures": {}, "fonts": b"", **more}


TEXT = {"type": "text", "text": "Words", "fontFamily": "Helvetica", "fill": "#eeeeee"}


@pytest.mark.parametrize("format", SIGNATURES)
def test_every_format_is_drawn(format: str) -> None:
    data, substituted, warnings = render_jobs.draw(source(TEXT), {"format": format})
    assert data.startswith(SIGNATURES[format])
    assert list(substituted) == ["Helvetica"] and warnings == []


def test_characters_without_a_font_are_told(no_system_fonts: None) -> None:
    given = source({**TEXT, "text": "漢"}, {**TEXT, "text": "字", "visible": False})
    _, _, [warning] = render_jobs.draw(given, {"format": "png"})
    assert warning.code == "missing-glyph" and "漢 (U+6F22)" in warning.message
    assert warning.element_ids == ["e0"]


def test_a_preview_has_labels_and_the_chosen_elements() -> None:
    given = source(TEXT, {"type": "rectangle", "fill": "red"})
    look = {"labels": True, "grid": True, "element_ids": ["e1"]}
    small = render_jobs.draw_small(given, look, 0.5)
    assert (small.format, small.width, small.height) == ("png", 100, 50)
    assert small.labels == {"1": "e0", "2": "e1"}


def test_a_preview_that_is_too_large_gets_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_jobs, "MAX_PREVIEW_BYTES", 1_000)
    gradient = {"type": "rectangle", "fill": "linear-gradient(30deg, red, blue)", "rotation": 20}
    small = render_jobs.draw_small(source(gradient, TEXT), {}, 1.0)
    assert len(small.data) <= 1_000 and small.width < 200


def test_findings_are_about_the_elements() -> None:
    low = source(TEXT, {"type": "rectangle", "x": 150, "width": 20, "fill": "red"})
    assert "low-contrast" in {one.code for one in render_jobs.check(low, ["e0"])}
    text, found, inside = render_jobs.describe(low, "outline", None, 5_000)
    assert "Words" in text and found and inside == []
    text, found, inside = render_jobs.describe(low, "full", (140, 0, 60, 100), 5_000)
    assert (inside, found) == (["e1"], [])


def test_the_operators_fonts_are_used(tmp_path: Path) -> None:
    face = bundled_faces()[0]
    (tmp_path / "a.ttf").write_bytes(Path(face.path).read_bytes())
    drawn = render_jobs.draw(source(TEXT, fonts=os.fsencode(tmp_path)), {"format": "png"})
    assert drawn[0].startswith(b"\x89PNG")


def test_pictures_come_from_files_and_the_library(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"picture")
    files = {"ast_1": os.fsencode(path), "ast_lost": os.fsencode(tmp_path / "lost")}
    assert render_jobs.find_picture_data(files, "ast_1") == b"picture"
    assert (render_jobs.find_picture_data(files, list_pictures()[0].uri) or b"").startswith(b"<svg")
    for src in ("ast_lost", "ast_2", "embedded:none", str(path)):
        assert render_jobs.find_picture_data(files, src) is None


def test_designs_are_adapted_and_resized() -> None:
    state = source({**TEXT, "fill": "#222222"})["state"]
    background, [element] = render_jobs.adapt(state, 400, 200, "dark")
    assert background != state.get("background", "#ffffff") and element["id"] == "e0"
    [element] = render_jobs.resize(state, 400, 200)
    assert element["id"] == "e0" and element["width"] > 100


def test_a_picture_that_is_none_is_an_error() -> None:
    with pytest.raises(ToolError, match="cannot be read"):
        render_jobs.draw(source({"type": "image", "src": "data:,x"}), {"format": "png"})


@pytest.mark.parametrize("id", ["instagram-sale", "birthday-invitation", "book-cover"])
def test_a_banner_uses_its_width(id: str) -> None:
    template = find_template(id)
    assert template is not None
    design = template.design()
    elements = render_jobs.resize(to_plain(design), 1920, 480)
    texts = [one for one in elements if one["type"] == "text"]
    left, right = min(one["x"] for one in texts), max(one["x"] + one["width"] for one in texts)
    # More than half of the width; scaled as a stack it would be a third or less.
    assert right - left > 1920 * 0.55
    largest = max(one["fontSize"] for one in texts)
    before = max(one["fontSize"] for one in to_plain(design)["elements"] if one["type"] == "text")
    assert largest / before > 1.2 * 480 / design.height
