"""Canvas presets."""

from __future__ import annotations

from dovetail_design.library.presets import PRESETS, find_preset, nearest_preset


def test_there_are_fifteen_and_all_fit_on_a_canvas() -> None:
    assert len(PRESETS) == 15
    assert all(1 <= preset.width <= 10_000 for preset in PRESETS.values())
    assert all(1 <= preset.height <= 10_000 for preset in PRESETS.values())


def test_a_preset_is_found_however_it_is_written() -> None:
    assert find_preset("Instagram Post") is find_preset("instagram_post") is not None
    assert find_preset("fax") is None


def test_the_nearest_has_the_proportions_first_and_the_size_second() -> None:
    assert nearest_preset(1080, 1920).id == "instagram-story"
    assert nearest_preset(3800, 2140).id == "4k"
    assert nearest_preset(500, 500).id == "instagram-post"
