from __future__ import annotations

from typing import Any

from dovetail_design.fonts import bundled_book
from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.skia_painter import SkiaPainter
from dovetail_design.rendering.typesetting import typesetter_for

RED, BLUE = Rgba(255, 0, 0), Rgba(0, 0, 255)
ALL = PathMark(Box(0, 0, 20, 20), RED)


def painted(*marks: Mark) -> Any:
    surface = skia.Surface(20, 20)
    SkiaPainter(surface.getCanvas(), typesetter_for(bundled_book())).paint(marks)
    image = surface.makeImageSnapshot().toarray(colorType=skia.kRGBA_8888_ColorType)
    return image


def test_a_clip_cuts_and_an_inner_one_spares() -> None:
    inside = painted(GroupMark((ALL,), clip=Box(5, 5, 10, 10)))
    outside = painted(GroupMark((ALL,), clip=Box(5, 5, 10, 10), clips_inside=True))
    assert (inside[10, 10, 3], inside[1, 1, 3]) == (255, 0)
    assert (outside[10, 10, 3], outside[1, 1, 3]) == (0, 255)


def test_a_group_fades_as_a_whole() -> None:
    both = (ALL, PathMark(Box(0, 0, 20, 20), BLUE))
    pixel = painted(GroupMark(both, opacity=0.5))[10, 10]
    assert tuple(pixel) == (0, 0, 255, 128)


def test_a_group_leaves_no_trace_on_what_follows() -> None:
    turned = GroupMark((ALL,), turn=(45, 0, 0), clip=Box(0, 0, 1, 1), opacity=0.5, blur=2)
    assert tuple(painted(turned, ALL)[19, 19]) == (255, 0, 0, 255)


def test_colours_are_changed() -> None:
    swap = (0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0)
    assert tuple(painted(GroupMark((ALL,), colours=swap))[5, 5]) == (0, 0, 255, 255)
