"""The embedded icon set: large, licensed and drawable."""

from __future__ import annotations

from importlib import resources

from dovetail_design.library import icons
from dovetail_design.library.icons import VIEW_BOX, find_icon, load_icons
from dovetail_design.model import Svg, parse_element
from dovetail_design.model.svg_paths import parse_svg_path


def test_there_are_well_over_a_thousand_icons_and_their_licence() -> None:
    assert len(load_icons()) >= 1_500
    licence = resources.files(icons).joinpath("phosphor.LICENSE").read_text("utf-8")
    assert licence.startswith("MIT License")


def test_icons_have_two_outlines_that_the_model_reads() -> None:
    # Every fifth, since there are three thousand outlines.
    for icon in list(load_icons().values())[::5]:
        for path in (icon.regular, icon.fill):
            assert parse_svg_path(path), icon.name


def test_an_icon_becomes_an_element_in_the_weight_that_is_asked_for() -> None:
    house = find_icon("house")
    assert house is not None
    regular = parse_element(house.as_element((1, 2, 3, 4), fill="#ff0000"))
    solid = parse_element(house.as_element((1, 2, 3, 4), weight="fill"))
    assert isinstance(regular, Svg) and isinstance(solid, Svg)
    assert (regular.svgPath, solid.svgPath) == (house.regular, house.fill)
    assert regular.svgViewBox == VIEW_BOX
    assert regular.fill == "#ff0000"


def test_an_unknown_name_finds_nothing() -> None:
    assert find_icon("no-such-icon") is None
