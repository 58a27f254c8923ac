"""Finds content that overlaps other content or is covered by something above it.

Intended overlaps are not reported: a text on its panel, an icon in its badge, a child in its
container, decoration behind and around. These are reported:

- two pieces of content (texts by their letters, codes, tables) that intersect,
- a piece of content under something that hides it,
- two pictures that partly cover each other,
- two panels with their own content that partly cover each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from dovetail_design.findings.boxes import Box
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.measuring import font_size_of
from dovetail_design.findings.painting import alpha_of, has_simple_outline, is_inside
from dovetail_design.findings.pixels import PixelSampler
from dovetail_design.findings.scene import Item, Scene, is_picture
from dovetail_design.model import Container, Line, Rectangle, Text

__all__ = ["find_overlaps"]

# Below this opacity the content shows through, so it is taken as intended.
_HIDING_ALPHA = 0.4
# The share of a piece of content that may be covered before it is reported.
_LOST_SHARE = 0.04
# Letters are lower than their line: this share of the font size is empty at top and bottom.
_AIR = 0.16
_SAME = 0.9
_MOST_PER_ITEM = 6
# A card that only extends over the edge of a band is a common style.
_PANEL_SHARE = 0.12


def find_overlaps(scene: Scene, pixels: PixelSampler) -> Iterator[Finding]:
    """Yield every pair once, with the lower element first."""
    for item in scene.items:
        if item.is_content:
            yield from _content(item, scene, pixels)
        elif is_picture(item):
            yield from _pictures(item, scene)
    yield from _panels(scene)


def _content(item: Item, scene: Scene, pixels: PixelSampler) -> Iterator[Finding]:
    """Yield at most a few findings per item; the first ones are enough."""
    return islice(_over(item, scene, pixels), _MOST_PER_ITEM)


def _over(item: Item, scene: Scene, pixels: PixelSampler) -> Iterator[Finding]:
    letters = _core(item)
    points = item.spread(24, 6)
    for other in scene.near(letters):
        if other.level <= item.level or _belong_together(item, other):
            continue
        if other.is_content:
            shared = letters.meet(_core(other))
            if shared is not None and _matters(shared, item, other):
                yield _finding(item, other, shared)
        elif _hides(other, points, pixels):
            yield _covered(item, other)


def _core(item: Item) -> Box:
    """Return the box of the visible content; for texts without the empty space around letters."""
    if not isinstance(item.element, Text):
        return item.ink
    air = font_size_of(item.element) * _AIR
    is_upright = item.turn % 180 == 0
    return item.ink.grow(0, -air) if is_upright else item.ink.grow(-air, -air)


def _belong_together(lower: Item, upper: Item) -> bool:
    """Return whether two texts form an effect: the same words twice at nearly the same place."""
    one, two = lower.element, upper.element
    if not (isinstance(one, Text) and isinstance(two, Text) and one.text == two.text):
        return False
    apart = max(abs(lower.ink.left - upper.ink.left), abs(lower.ink.top - upper.ink.top))
    return apart <= font_size_of(one) / 2


def _matters(shared: Box, one: Item, two: Item) -> bool:
    if min(shared.width, shared.height) < 2:
        return False
    # Boxes of rotated texts are larger than the texts.
    if one.turn % 90 or two.turn % 90:
        return shared.area > 0.25 * min(one.ink.area, two.ink.area)
    return shared.area > 0.01 * min(one.ink.area, two.ink.area)


def _hides(other: Item, points: Sequence[tuple[float, float]], pixels: PixelSampler) -> bool:
    """Return whether a shape, picture or panel above hides some of the content."""
    if isinstance(other.element, Line):
        return False
    if has_simple_outline(other.element):
        if alpha_of(other) < _HIDING_ALPHA:
            return False
        lost = sum(is_inside(other, point) for point in points)
    else:
        lost = sum(alpha >= _HIDING_ALPHA for alpha in pixels.alphas(other, points))
    return lost > _LOST_SHARE * len(points)


def _pictures(item: Item, scene: Scene) -> Iterator[Finding]:
    for other in scene.near(item.bounds):
        if other.level <= item.level or not is_picture(other) or _grouped(item, other):
            continue
        shared = item.bounds.meet(other.bounds)
        if (
            shared is None
            or item.bounds.holds(other.bounds, 2)
            or other.bounds.holds(item.bounds, 2)
        ):
            continue
        if shared.area > 0.03 * min(item.bounds.area, other.bounds.area):
            yield _finding(item, other, shared)


def _panels(scene: Scene) -> Iterator[Finding]:
    """Yield panels with their own content that partly cover each other.

    A band that crosses a card contains some of the texts of the card, and is taken as intended.
    """
    panels = [
        item
        for item in scene.items
        if isinstance(item.element, Rectangle | Container)
        and alpha_of(item) >= _HIDING_ALPHA
        and item.bounds.area < _SAME * scene.canvas.area
    ]
    held = {panel.level: _held(panel, scene) for panel in panels}
    for panel in panels:
        for other in scene.near(panel.bounds):
            if other.level <= panel.level or not held[panel.level] or not held.get(other.level):
                continue
            if _is_meant(panel, other) or held[panel.level] & held[other.level]:
                continue
            shared = panel.bounds.meet(other.bounds)
            smaller = min(panel.bounds.area, other.bounds.area)
            if shared is not None and shared.area > _PANEL_SHARE * smaller:
                yield _finding(panel, other, shared)


def _is_meant(panel: Item, other: Item) -> bool:
    """Return whether panels are in one group, nested, or container and child."""
    return (
        _grouped(panel, other)
        or panel.bounds.holds(other.bounds, 2)
        or other.bounds.holds(panel.bounds, 2)
        or panel.element in other.containers
    )


def _held(panel: Item, scene: Scene) -> set[int]:
    return {
        item.level
        for item in scene.near(panel.bounds)
        if item.is_content and item.level > panel.level and panel.bounds.holds(item.ink, 2)
    }


def _grouped(one: Item, two: Item) -> bool:
    group = one.element.groupId
    return group is not None and group == two.element.groupId


def _finding(lower: Item, upper: Item, shared: Box) -> Finding:
    return Finding(
        "overlap",
        f"The {lower.label} and the {upper.label} overlap by {shared.width:.0f} x "
        f"{shared.height:.0f} px at {shared.left:.0f}, {shared.top:.0f}",
        (lower.id, upper.id),
        f"Move them apart by {min(shared.width, shared.height):.0f} px, or make one smaller.",
    )


def _covered(lower: Item, upper: Item) -> Finding:
    return Finding(
        "overlap",
        f"The {upper.label} covers the {lower.label}",
        (lower.id, upper.id),
        "Bring the content to the front (order), or move one of them.",
    )
