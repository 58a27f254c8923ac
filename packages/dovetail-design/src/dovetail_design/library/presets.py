"""Named canvas sizes, for the `preset` of create_design."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PRESETS", "Preset", "find_preset", "nearest_preset"]


@dataclass(frozen=True)
class Preset:
    """A named canvas size in pixels."""

    id: str
    name: str
    width: int
    height: int
    category: str


# Screens in pixels, paper at 96 pixels per inch (as in CSS and in our PDF), cards and badges at
# 300, as print shops require.
PRESETS: dict[str, Preset] = {
    preset.id: preset
    for preset in (
        Preset("full-hd", "Full HD", 1920, 1080, "screen"),
        Preset("4k", "4K UHD", 3840, 2160, "screen"),
        Preset("instagram-post", "Instagram post", 1080, 1080, "social"),
        Preset("instagram-story", "Instagram story", 1080, 1920, "social"),
        Preset("facebook-post", "Facebook post", 1200, 630, "social"),
        Preset("twitter-post", "Twitter post", 1200, 675, "social"),
        Preset("youtube-thumbnail", "YouTube thumbnail", 1280, 720, "social"),
        Preset("linkedin-post", "LinkedIn post", 1200, 627, "social"),
        Preset("pinterest-pin", "Pinterest pin", 1000, 1500, "social"),
        Preset("a4-portrait", "A4 portrait", 794, 1123, "print"),
        Preset("a4-landscape", "A4 landscape", 1123, 794, "print"),
        Preset("us-letter", "US Letter", 816, 1056, "print"),
        Preset("business-card", "Business card", 1050, 600, "print"),
        Preset("certificate", "Certificate", 1600, 1130, "print"),
        Preset("badge", "Badge", 600, 900, "print"),
    )
}


def find_preset(name: str) -> Preset | None:
    """Return a preset by its id; blanks, capitals and underscores are accepted."""
    return PRESETS.get(name.strip().lower().replace(" ", "-").replace("_", "-"))


def nearest_preset(width: float, height: float) -> Preset:
    """Return the preset with the nearest proportions, and among those the nearest area."""

    def distance(preset: Preset) -> tuple[float, float]:
        shape = (preset.width / preset.height) / (width / height)
        area = (preset.width * preset.height) / (width * height)
        return round(max(shape, 1 / shape), 2), max(area, 1 / area)

    return min(PRESETS.values(), key=distance)
