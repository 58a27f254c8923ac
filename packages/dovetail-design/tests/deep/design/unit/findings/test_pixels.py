"""The pixels: what it sees behind, and how often it looks."""

from __future__ import annotations

from dovetail_design.findings.pixels import PixelSampler
from dovetail_design.findings.scene import Scene
from dovetail_design.model import Rgba
from tests.deep.design.unit.findings.scenery import box, design, text


def test_behind_a_text_are_the_colours_of_what_lies_below_it() -> None:
    scene = Scene.of(
        design(
            box(0, 0, 100, 600, "#ff0000"),
            text("Across the edge", 0, 100, 200, 60),
            box(0, 90, 200, 80, "#00ff00"),
        )
    )
    seen = PixelSampler(scene).behind(scene.items[1])
    assert set(seen) >= {Rgba(255, 0, 0), Rgba(255, 255, 255)}
    assert Rgba(0, 255, 0) not in seen


def test_a_clear_canvas_is_seen_as_white() -> None:
    scene = Scene.of(design(text("On nothing", 10, 10), background="transparent"))
    assert set(PixelSampler(scene).behind(scene.items[0])) == {Rgba(255, 255, 255)}


def test_an_item_alone_shows_how_strongly_it_paints() -> None:
    scene = Scene.of(design(box(0, 0, 100, 100, "#0000ff", opacity=0.5)))
    inside, outside = PixelSampler(scene).alphas(scene.items[0], [(50, 50), (300, 300)])
    assert round(inside, 1) == 0.5
    assert outside == 0


def test_a_text_outside_has_nothing_behind_it() -> None:
    scene = Scene.of(design(text("Away", 2000, 2000)))
    assert PixelSampler(scene).behind(scene.items[0]).total() == 0
