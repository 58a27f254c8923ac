"""Templates for presentations, 1920 by 1080; the four make one set."""

from __future__ import annotations

from dovetail_design.library.templates.kit import (
    Plain,
    box,
    disc,
    icon,
    rule,
    shape,
    text,
)
from dovetail_design.library.templates.template import Template

__all__ = ["TEMPLATES"]

_NAVY, _WHITE, _SKY, _AMBER, _GREY = "#14213d", "#ffffff", "#3a86c8", "#f2b134", "#4a5568"


def _point(number: int, top: float) -> list[Plain]:
    return [
        disc(170, top + 36, 36, "#2a6cab" if number % 2 else "#1d5c9c"),
        text(
            str(number),
            (134, top, 72, 72),
            34,
            _WHITE,
            weight=800,
            align="center",
            vertical="middle",
        ),
        text(f"{{{{point_{number}}}}}", (250, top - 4, 1000, 80), 44, _NAVY, vertical="middle"),
    ]


def _figure(number: int, left: float) -> list[Plain]:
    return [
        box((left, 380, 520, 460), "#eef4fa", 28),
        text(
            f"{{{{value_{number}}}}}",
            (left + 30, 460, 460, 150),
            120,
            "#1d5c9c",
            weight=800,
            align="center",
            vertical="middle",
            line=1.0,
        ),
        text(
            f"{{{{label_{number}}}}}",
            (left + 30, 640, 460, 130),
            36,
            _GREY,
            align="center",
            line=1.3,
        ),
    ]


TEMPLATES = (
    Template(
        id="slide-title",
        name="Title slide",
        category="presentation",
        description="The first slide: title, subtitle, who and when.",
        tags=("presentation", "slide", "title", "cover", "talk", "pitch", "landscape"),
        width=1920,
        height=1080,
        background=_NAVY,
        layout=lambda: (
            shape("quarter-circle", (1240, 178, 960, 960), "#1d3d6e", rotation=270),
            shape("quarter-circle", (1440, 366, 760, 760), _SKY, rotation=270),
            rule((140, 330, 140, 12), _AMBER),
            text(
                "{{title}}",
                (134, 380, 1150, 300),
                118,
                _WHITE,
                weight=800,
                line=1.08,
                letterSpacing=-3,
            ),
            text("{{subtitle}}", (140, 700, 1060, 120), 46, "#c8d3e6", line=1.3),
            text("{{name}}", (140, 910, 800, 52), 36, _WHITE, weight=600),
            text("{{date}}", (140, 964, 800, 46), 32, "#c8d3e6"),
        ),
        slots={
            "title": "A plan for quieter streets",
            "subtitle": "What we learned in two years of measuring, and what to do next",
            "name": "Lena Hofstra",
            "date": "14 March 2027",
        },
    ),
    Template(
        id="slide-content",
        name="Content slide",
        category="presentation",
        description="A heading and four numbered points.",
        tags=("presentation", "slide", "content", "list", "points", "agenda", "landscape"),
        width=1920,
        height=1080,
        background=_WHITE,
        layout=lambda: (
            box((0, 0, 1920, 24), _NAVY),
            shape("blob-soft", (1390, 250, 640, 640), "#e3eef8"),
            icon("list-checks", 1540, 420, 280, _SKY),
            text("{{title}}", (130, 110, 1600, 110), 76, _NAVY, weight=800, letterSpacing=-1),
            rule((134, 232, 120, 10), _AMBER),
            *_point(1, 340),
            *_point(2, 490),
            *_point(3, 640),
            *_point(4, 790),
            text("{{footer}}", (134, 985, 1200, 40), 26, "#5a6578"),
        ),
        slots={
            "title": "What makes a street quiet",
            "point_1": "Fewer cars that only pass through",
            "point_2": "Thirty as the speed for everyone",
            "point_3": "Surfaces that swallow sound",
            "point_4": "Trees between road and houses",
            "footer": "Quieter streets, 2027",
        },
    ),
    Template(
        id="slide-figures",
        name="Figures slide",
        category="presentation",
        description="Three large numbers with what they mean.",
        tags=("presentation", "slide", "numbers", "statistics", "figures", "report", "landscape"),
        width=1920,
        height=1080,
        background=_WHITE,
        layout=lambda: (
            box((0, 0, 1920, 24), _NAVY),
            text("{{title}}", (130, 110, 1660, 110), 76, _NAVY, weight=800, letterSpacing=-1),
            rule((134, 232, 120, 10), _AMBER),
            *_figure(1, 130),
            *_figure(2, 700),
            *_figure(3, 1270),
            text("{{footer}}", (134, 940, 1650, 44), 28, "#5a6578"),
        ),
        slots={
            "title": "Two years in numbers",
            "value_1": "-38%",
            "label_1": "cars in the morning hour",
            "value_2": "6 dB",
            "label_2": "less noise at the windows",
            "value_3": "9 of 10",
            "label_3": "residents want to keep it",
            "footer": "Measured at 24 places between May 2025 and April 2027",
        },
    ),
    Template(
        id="slide-closing",
        name="Closing slide",
        category="presentation",
        description="Thanks and where to reach you.",
        tags=("presentation", "slide", "closing", "thanks", "contact", "end", "landscape"),
        width=1920,
        height=1080,
        background=_NAVY,
        layout=lambda: (
            shape("quarter-circle", (-280, -280, 900, 900), "#1d3d6e", rotation=90),
            disc(1780, 980, 240, _SKY),
            text(
                "{{title}}",
                (260, 330, 1400, 180),
                150,
                _WHITE,
                weight=800,
                align="center",
                line=1.05,
                letterSpacing=-3,
            ),
            text("{{subtitle}}", (310, 530, 1300, 70), 46, "#c8d3e6", align="center"),
            rule((890, 640, 140, 10), _AMBER),
            text("{{name}}", (310, 690, 1300, 60), 42, _WHITE, weight=700, align="center"),
            text("{{email}}", (310, 756, 1300, 54), 38, "#c8d3e6", align="center"),
            text("{{url}}", (310, 816, 1300, 54), 38, "#c8d3e6", align="center"),
        ),
        slots={
            "title": "Thank you",
            "subtitle": "Questions are welcome, now or later",
            "name": "Lena Hofstra",
            "email": "lena@quietstreets.example",
            "url": "quietstreets.example",
        },
    ),
)
