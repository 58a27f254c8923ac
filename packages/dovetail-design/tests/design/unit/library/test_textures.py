"""Textures are repeatable and stay in their box."""

from __future__ import annotations

from dovetail_design.library.textures import Texture, build_texture
from dovetail_design.model.svg_paths import parse_svg_path

TEXTURE = Texture(background="#ffffff", color="#00000020", count=300, size=8)


def test_the_layers_are_a_background_and_the_grains() -> None:
    (background, box), (color, grains) = build_texture(TEXTURE, "sand", 60, 40)
    assert (background, box) == ("#ffffff", "M0 0 L60 0 L60 40 L0 40 Z")
    assert color == "#00000020"
    assert grains.count("M") == grains.count("Z") == 300


def test_the_seed_decides_where_the_grains_are() -> None:
    first = build_texture(TEXTURE, "sand", 60, 40)
    assert build_texture(TEXTURE, "sand", 60, 40) == first
    assert build_texture(TEXTURE, "stone", 60, 40) != first


def test_grains_are_cut_at_the_edges() -> None:
    _, (_, grains) = build_texture(TEXTURE, "sand", 60, 40)
    points = [numbers for letter, numbers in parse_svg_path(grains) if letter != "Z"]
    xs, ys = zip(*points, strict=True)
    assert (min(xs), max(xs)) == (0, 60)
    assert (min(ys), max(ys)) == (0, 40)
