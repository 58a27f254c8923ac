"""Clean layouts made from a seed, and flaws that are planted into them.

Everything is laid out with room to spare, so a finding on a clean one is a false alarm; a flaw says
which code it must be reported under and about which element.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from dovetail_design.library.icons import load_icons
from dovetail_design.library.pictures import list_pictures
from dovetail_design.model import Design, parse_design

__all__ = ["FLAWS", "Flawed", "clean_design", "flawed_design"]

Plain = dict[str, Any]

_WORDS = tuple(
    re.findall(
        r"\w+",
        "river stone morning garden window letter bridge winter silver market quiet harbour "
        "paper lantern meadow copper island thunder orchard candle",
    )
)
# Ground, ink on it, panel, ink on the panel, accent (seen, not read).
_PALETTES = (
    ("#ffffff", "#1b1f3b", "#eef2f9", "#22304d", "#e4572e"),
    ("#14213d", "#ffffff", "#24365f", "#f2f5fb", "#f2b134"),
    ("#fbf7f0", "#3a2618", "#f1e2c8", "#3a2618", "#8a3f14"),
    ("linear-gradient(160deg, #0f4c81, #0b2545)", "#ffffff", "#ffffff", "#14213d", "#2bb3c0"),
    ("linear-gradient(135deg, #fff1eb, #ace0f9)", "#1f2430", "#ffffff", "#1f2430", "#7d5ba6"),
)
_SIZES = ((1080, 1080), (1920, 1080), (794, 1123), (1200, 630), (1000, 1500))


class Flawed(NamedTuple):
    """A design with one known fault."""

    design: Design
    code: str
    element_ids: tuple[str, ...]


class _Page:
    """A canvas that hands out free room from top to bottom."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.width, self.height = chance.choice(_SIZES)
        self.ground, self.ink, self.panel, self.panel_ink, self.accent = chance.choice(_PALETTES)
        self.margin = round(min(self.width, self.height) * 0.07)
        self.unit = min(self.width, self.height) / 1000
        self.elements: list[Plain] = []
        self.top = float(self.margin)

    @property
    def inner(self) -> float:
        return self.width - 2 * self.margin

    def words(self, least: int, most: int) -> str:
        text = " ".join(self.chance.choice(_WORDS) for _ in range(self.chance.randint(least, most)))
        return text.capitalize()

    def add(self, **values: Any) -> Plain:
        element = {"id": f"n{len(self.elements)}", **values}
        self.elements.append(element)
        return element

    def text(
        self, words: str, box: tuple[float, float, float, float], size: float, ink: str, **more: Any
    ) -> Plain:
        x, y, width, height = box
        return self.add(
            type="text",
            text=words,
            x=x,
            y=y,
            width=width,
            height=height,
            fontSize=round(size, 1),
            fill=ink,
            **more,
        )

    def design(self) -> Design:
        return parse_design(
            {
                "width": self.width,
                "height": self.height,
                "background": self.ground,
                "elements": self.elements,
            }
        )


def _head(page: _Page) -> None:
    size = page.unit * page.chance.choice([56, 64, 72])
    high = size * 1.2 * 2.2
    align = page.chance.choice(["left", "center"])
    box = (page.margin, page.top, page.inner, high)
    page.text(page.words(2, 3), box, size, page.ink, fontWeight="700", textAlign=align)
    page.top += high + page.unit * 16
    high = page.unit * 30 * 1.2 * 2.4
    box = (page.margin, page.top, page.inner, high)
    page.text(page.words(4, 7), box, page.unit * 30, page.ink, textAlign=align)
    page.top += high + page.unit * 30


def _decoration(page: _Page) -> None:
    """Behind everything: shapes that run over the edge, as faint as decoration is."""
    radius = page.unit * page.chance.randint(120, 260)
    for x, y in page.chance.sample([(0, 0), (page.width, 0), (page.width, page.height)], 2):
        page.add(
            type="circle",
            x=x - radius,
            y=y - radius,
            width=2 * radius,
            height=2 * radius,
            fill=page.accent,
            opacity=0.12,
        )


def _cards(page: _Page, bottom: float) -> None:
    """Panels side by side, each with an icon in a badge, a heading and a text."""
    count = page.chance.choice([2, 3])
    gap = page.unit * 30
    wide = (page.inner - gap * (count - 1)) / count
    high = min(bottom - page.top, page.unit * 400)
    icons = list(load_icons().values())
    for number in range(count):
        left = page.margin + number * (wide + gap)
        page.add(
            type="rectangle",
            x=left,
            y=page.top,
            width=wide,
            height=high,
            fill=page.panel,
            borderRadius=16,
        )
        inside, pad = wide - page.unit * 48, page.unit * 24
        badge = min(page.unit * 90, high * 0.25)
        page.add(
            type="circle",
            x=left + pad,
            y=page.top + pad,
            width=badge,
            height=badge,
            fill=page.accent,
        )
        icon = page.chance.choice(icons)
        spot = (left + pad + badge / 4, page.top + pad + badge / 4, badge / 2, badge / 2)
        page.elements.append(
            {"id": f"n{len(page.elements)}", **icon.as_element(spot, fill="#ffffff")}
        )
        size = min(page.unit * 34, high * 0.1)
        place = (left + pad, page.top + pad * 1.5 + badge, inside, size * 3)
        page.text(page.words(1, 2), place, size, page.panel_ink, fontWeight="700")
        start = place[1] + size * 3.1
        room = page.top + high - start - pad
        small = min(page.unit * 26, room / 6)
        page.text(page.words(3, 5), (left + pad, start, inside, room), small, page.panel_ink)
    page.top += high + page.unit * 30


def _rows(page: _Page, bottom: float) -> None:
    """A list with numbers in discs and lines between."""
    count = 4
    high = min((bottom - page.top) / count, page.unit * 120)
    for number in range(count):
        top = page.top + number * high
        disc = high * 0.5
        page.add(
            type="circle",
            x=page.margin,
            y=top + high * 0.2,
            width=disc,
            height=disc,
            fill="#22304d",
        )
        page.text(
            str(number + 1),
            (page.margin, top + high * 0.2, disc, disc),
            disc * 0.45,
            "#ffffff",
            textAlign="center",
            verticalAlign="middle",
            fontWeight="700",
        )
        place = (page.margin + disc * 1.5, top + high * 0.12, page.inner - disc * 1.5, high * 0.66)
        page.text(page.words(2, 4), place, high * 0.24, page.ink, verticalAlign="middle")
        page.add(
            type="line",
            x=page.margin,
            y=top + high * 0.96,
            width=page.inner,
            height=0,
            stroke=page.accent,
            strokeWidth=2,
        )
    page.top += count * high


def _scene(page: _Page, bottom: float) -> None:
    """A picture of the library with a caption on a panel in front of it."""
    high = min(bottom - page.top, page.inner * 0.625)
    wide = high * 1.6
    picture = page.chance.choice(list_pictures("illustration"))
    left = page.margin + (page.inner - wide) / 2
    for element in picture.as_elements((left, page.top, wide, high), "scene"):
        page.elements.append({"id": f"n{len(page.elements)}", **element})
    size = min(page.unit * 34, high * 0.1)
    strip = size * 3
    place = (left + wide * 0.06, page.top + high - strip * 1.2, wide * 0.88, strip)
    page.add(
        type="container",
        x=place[0],
        y=place[1],
        width=place[2],
        height=place[3],
        fill="#ffffff",
        borderRadius=12,
    )
    group = page.elements[-1]["id"]
    page.text(
        page.words(2, 3),
        (place[0] + size, place[1] + size * 0.5, place[2] - 2 * size, size * 2),
        size * 0.9,
        "#1f2430",
        textAlign="center",
        verticalAlign="middle",
        groupId=group,
    )
    page.top += high


def _codes(page: _Page, bottom: float) -> None:
    """A table beside a QR code."""
    high = min(bottom - page.top, page.unit * 420)
    side = min(high, page.inner * 0.28)
    rows, columns = 4, 3
    page.add(
        type="table",
        x=page.margin,
        y=page.top,
        width=page.inner - side - page.unit * 40,
        height=high,
        tableRows=rows,
        tableColumns=columns,
        fill="#ffffff",
        tableHeaderData=[{"col": col, "text": page.words(1, 1)} for col in range(columns)],
        tableCellData=[
            {"row": row, "col": col, "text": str(page.chance.randint(1, 999))}
            for row in range(rows)
            for col in range(columns)
        ],
        tableHeaderBackground="#22304d",
        tableHeaderTextColor="#ffffff",
        tableCellFontSize=round(min(page.unit * 24, high / 14), 1),
    )
    page.add(
        type="qr",
        x=page.width - page.margin - side,
        y=page.top,
        width=side,
        height=side,
        qrValue=f"https://shop.example/{page.chance.randint(1, 9999)}",
    )
    page.top += high


_PARTS: tuple[Callable[[_Page, float], None], ...] = (_cards, _rows, _scene, _codes)


def _lay_out(seed: int) -> _Page:
    page = _Page(Random(seed))
    if page.chance.random() < 0.6:
        _decoration(page)
    _head(page)
    _PARTS[seed % len(_PARTS)](page, page.height - page.margin - page.unit * 60)
    foot = (page.margin, page.height - page.margin - page.unit * 36, page.inner, page.unit * 36)
    page.text(page.words(2, 3), foot, page.unit * 22, page.ink)
    return page


def clean_design(seed: int) -> Design:
    """A layout without a fault."""
    return _lay_out(seed).design()


def _texts(page: _Page) -> list[Plain]:
    return [element for element in page.elements if element["type"] == "text"]


def _too_much_text(page: _Page) -> tuple[str, ...]:
    text = page.chance.choice(_texts(page))
    text["text"] = " ".join([text["text"]] * 40)
    return (text["id"],)


def _too_low_a_box(page: _Page) -> tuple[str, ...]:
    text = page.chance.choice(_texts(page))
    text["height"] = max(1, round(text["fontSize"] * 0.6))
    return (text["id"],)


def _too_long_a_word(page: _Page) -> tuple[str, ...]:
    text = page.chance.choice(_texts(page))
    text["text"] = "Donaudampfschifffahrt" * 30
    return (text["id"],)


def _text_on_text(page: _Page) -> tuple[str, ...]:
    one, two = page.chance.sample([text for text in _texts(page) if len(text["text"]) > 5], 2)
    lower, upper = sorted((one, two), key=page.elements.index)
    for text in (lower, upper):
        text |= {"x": lower["x"], "y": lower["y"], "textAlign": "left", "verticalAlign": "top"}
    return (lower["id"], upper["id"])


def _box_over_text(page: _Page) -> tuple[str, ...]:
    text = page.chance.choice(_texts(page))
    cover = page.add(
        type="rectangle",
        x=text["x"] - 5,
        y=text["y"] - 5,
        width=text["width"] + 10,
        height=text["height"] + 10,
        fill=page.accent,
    )
    return (text["id"], cover["id"])


def _code_on_text(page: _Page) -> tuple[str, ...]:
    head = _texts(page)[0]
    left = head["x"] + (head["width"] / 2 - 100 if head.get("textAlign") == "center" else 0)
    code = page.add(type="qr", x=left, y=head["y"], width=200, height=200, qrValue="over it")
    return (head["id"], code["id"])


def _outside(page: _Page) -> tuple[str, ...]:
    star = page.add(
        type="star",
        x=page.width + page.chance.randint(5, 500),
        y=40,
        width=60,
        height=60,
        fill=page.accent,
    )
    return (star["id"],)


def _over_the_edge(page: _Page) -> tuple[str, ...]:
    text = page.chance.choice(_texts(page)[:2])
    text |= {"textAlign": "right", "x": page.width - text["width"] + page.unit * 60}
    return (text["id"],)


def _above_the_edge(page: _Page) -> tuple[str, ...]:
    text = _texts(page)[0]
    text["y"] = -text["fontSize"] * 0.7
    return (text["id"],)


def _like_its_ground(page: _Page) -> tuple[str, ...]:
    text = _texts(page)[1]
    # The middle of the ground, a little lighter or darker.
    ground = page.ground.split(",")[-1].strip(" )")
    channels = (int(ground[at : at + 2], 16) for at in (1, 3, 5))
    near = (channel - 18 if channel > 128 else channel + 18 for channel in channels)
    text["fill"] = "#" + "".join(f"{channel:02x}" for channel in near)
    return (text["id"],)


def _faint(page: _Page) -> tuple[str, ...]:
    text = _texts(page)[0]
    text["opacity"] = 0.12
    return (text["id"],)


def _pale_code(page: _Page) -> tuple[str, ...]:
    foot = _texts(page)[-1]
    side = page.unit * 60
    code = page.add(
        type="qr",
        x=page.width - page.margin - side,
        y=foot["y"] + foot["height"] - side,
        width=side,
        height=side,
        qrValue="pale",
        qrColor="#d8d8d8",
        qrBgColor="#ffffff",
    )
    return (code["id"],)


FLAWS: tuple[tuple[str, Callable[[_Page], tuple[str, ...]]], ...] = (
    ("text-overflow", _too_much_text),
    ("overlap", _text_on_text),
    ("off-canvas", _outside),
    ("low-contrast", _like_its_ground),
    ("text-overflow", _too_low_a_box),
    ("overlap", _box_over_text),
    ("off-canvas", _over_the_edge),
    ("low-contrast", _faint),
    ("text-overflow", _too_long_a_word),
    ("overlap", _code_on_text),
    ("off-canvas", _above_the_edge),
    ("low-contrast", _pale_code),
)


def flawed_design(seed: int) -> Flawed:
    """The layout of this seed with one flaw; the flaws take turns."""
    page = _lay_out(seed)
    # Not in step with the layouts, so that every flaw meets every layout.
    code, plant = FLAWS[(seed + seed // len(FLAWS)) % len(FLAWS)]
    element_ids = plant(page)
    return Flawed(page.design(), code, element_ids)
