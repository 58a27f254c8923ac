from __future__ import annotations

import msgspec
import pytest

from dovetail_design.model.design import Design


def test_a_design_is_white_and_full_hd_by_default() -> None:
    design = Design()
    assert (design.width, design.height, design.background) == (1920, 1080, "#ffffff")


def test_a_background_is_a_colour_or_a_gradient() -> None:
    Design(background="linear-gradient(red, blue)")
    with pytest.raises(ValueError, match="background: 'x' is not a colour"):
        Design(background="x")


@pytest.mark.parametrize("side", [0, 10_001])
def test_a_side_is_1_to_10000(side: int) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"width": side}, Design)
