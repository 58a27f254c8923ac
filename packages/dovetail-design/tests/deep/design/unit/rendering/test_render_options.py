from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_design.model import Design
from dovetail_design.rendering.render_options import RenderOptions, pixel_size


@pytest.mark.parametrize(
    ("options", "size"),
    [
        (RenderOptions(), (200, 100)),
        (RenderOptions(scale=1.5), (300, 150)),
        (RenderOptions(scale=0.001), (1, 1)),
        (RenderOptions(scale=2, max_width=300), (300, 150)),
        (RenderOptions(max_width=0), (1, 1)),
    ],
)
def test_a_picture_has_whole_pixels(options: RenderOptions, size: tuple[int, int]) -> None:
    assert pixel_size(Design(width=200, height=100), options) == size


def test_the_area_has_a_limit() -> None:
    with pytest.raises(ToolError, match="Use a scale of"):
        pixel_size(Design(width=5_000, height=5_000), RenderOptions(scale=2))
