"""The rules of the assistant: a pattern, its handler and an example each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from dovetail_design.generating.advice_additions import add_code, add_shape, add_text
from dovetail_design.generating.advice_fixes import fix_operations
from dovetail_design.generating.advice_looks import (
    paint_background,
    paint_elements,
    set_font,
    set_font_size,
    set_look,
    set_opacity,
    set_words,
    show_or_hide,
)
from dovetail_design.generating.advice_moves import (
    align_elements,
    delete_elements,
    move_elements,
    order_elements,
    rotate_elements,
    scale_elements,
)
from dovetail_design.generating.advice_steps import Step
from dovetail_design.model import Design

__all__ = ["RULES", "Rule"]

Match = re.Match[str]


@dataclass(frozen=True)
class Rule:
    """A pattern, the function that handles a match, and an example."""

    pattern: re.Pattern[str]
    handler: Callable[[Match, Design], Step | None]
    example: str


def fix_problems(found: Match, design: Design) -> Step | None:
    """Fix problems automatically."""
    operations, said = fix_operations(design)
    if not operations:
        return Step("I found nothing that I can fix.")
    return Step(f"Fixed: {said}.", operations)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SAID = r"[\"'\u201c\u2018](?P<words>.+?)[\"'\u201d\u2019]\s*$"

RULES: tuple[Rule, ...] = (
    Rule(_compiled(r"\bfix|\bmend\b|\brepair\b|\bimprove\b"), fix_problems, "fix the problems"),
    Rule(
        _compiled(
            r"\b(?:background|canvas)\b(?:\s+colou?r)?\s*(?:to|=|:|into|be|is)?\s+(?P<colour>.+)$"
        ),
        paint_background,
        "change the background to blue",
    ),
    Rule(
        _compiled(
            rf"\badd\s+(?:an?\s+|the\s+|some\s+)?(?:text|line|words?|caption|label)\b.*?{_SAID}"
        ),
        add_text,
        'add a text "Free entry"',
    ),
    Rule(
        _compiled(r"\badd\s+(?:an?\s+)?qr(?:[ -]?code)?\s+(?:for|to|with|of)\s+(?P<value>\S+)"),
        add_code,
        "add a QR code for https://example.com",
    ),
    Rule(
        _compiled(r"\badd\s+(?:an?\s+|the\s+|some\s+)?(?P<what>[a-z# -]+)$"),
        add_shape,
        "add a red heart",
    ),
    Rule(
        _compiled(
            r"\b(?:change|set|replace|make|write)\s+(?P<target>.+?)\s+(?:text\s+)?"
            rf"(?:to|with|say|as|read)\s*:?\s*{_SAID}"
        ),
        set_words,
        'change the title to "Summer sale"',
    ),
    Rule(
        _compiled(
            r"(?P<target>.*?)\b(?:font[ -]?size|size)\b.*?\b(?P<size>\d+(?:\.\d+)?)\s*(?:px|pt)?$"
        ),
        set_font_size,
        "set the title font size to 72",
    ),
    Rule(
        _compiled(
            r"(?:make|scale|turn)?\s*(?P<target>.+?)\s+(?:\d+\s*%\s+)?"
            r"(?P<amount>(?:a (?:little )?bit|a little|slightly|much|a lot|way)\s+)?"
            r"(?P<way>bigger|larger|smaller|wider|taller|higher|tinier)\b"
        ),
        scale_elements,
        "make the title bigger",
    ),
    Rule(
        _compiled(
            r"(?P<target>.+?)\s+(?:to\s+)?(?P<value>\d+(?:\.\d+)?)\s*(?P<percent>%)?\s*"
            r"(?:opacity|opaque|transparent|transparency)"
        ),
        set_opacity,
        "make the circle 50% transparent",
    ),
    Rule(
        _compiled(
            r"opacity\s+of\s+(?P<target>.+?)\s+(?:to\s+)?(?P<value>\d+(?:\.\d+)?)\s*(?P<percent>%)?"
        ),
        set_opacity,
        "set the opacity of the circle to 0.5",
    ),
    Rule(
        _compiled(
            r"(?:make|set)?\s*(?P<target>.+?)\s+"
            r"(?P<look>bold|italic|underlined?|uppercase|lowercase|regular|normal)\b"
        ),
        set_look,
        "make the subtitle bold",
    ),
    Rule(
        _compiled(
            r"\b(?:use|apply)\s+(?:the\s+font\s+)?(?P<family>[A-Z][\w ]+?)"
            r"(?:\s+(?:for|on|in)\s+(?P<target>.+))?$"
        ),
        set_font,
        "use Noto Serif for the title",
    ),
    Rule(
        _compiled(r"\bfont\b(?:\s+of\s+(?P<target>.+?))?\s+(?:to|into|=)\s+(?P<family>.+)$"),
        set_font,
        "change the font of the title to Bebas Neue",
    ),
    Rule(
        _compiled(
            r"\balign\s+(?:(?P<target>.+?)\s+)?(?:to\s+)?(?:the\s+)?(?P<side>left|right|cent(?:er|re)|middle|"
            r"justify|top|bottom)"
        ),
        align_elements,
        "align the title left",
    ),
    Rule(
        _compiled(r"\b(?P<side>cent(?:er|re))\s+(?P<target>.+)"),
        align_elements,
        "center the title on the canvas",
    ),
    Rule(
        _compiled(
            r"\bmove\s+(?P<target>.+?)\s+(?P<way>up|down|left|right)(?:\s+by)?(?:\s+(?P<amount>\d+(?:\.\d+)?))?"
        ),
        move_elements,
        "move the title up by 20",
    ),
    Rule(
        _compiled(
            r"\b(?:rotate|turn)\s+(?P<target>.+?)(?:\s+by)?(?:\s+(?P<degrees>\d+(?:\.\d+)?)|$)"
        ),
        rotate_elements,
        "rotate the star by 45 degrees",
    ),
    Rule(
        _compiled(r"\b(?:delete|remove|get rid of)\s+(?P<target>.+)"),
        delete_elements,
        "delete the circle",
    ),
    Rule(
        _compiled(r"\b(?P<way>hide|show|unhide)\s+(?P<target>.+)"),
        show_or_hide,
        "hide the subtitle",
    ),
    Rule(
        _compiled(
            r"\b(?:bring|send|put|move)\s+(?P<target>.+?)\s+(?:to\s+)?(?:the\s+)?(?P<place>front|back|top|bottom)"
        ),
        order_elements,
        "bring the title to the front",
    ),
    Rule(
        _compiled(
            r"\b(?:make|change|set|colou?r|paint|turn)\s+(?P<target>.+?)(?:\s+colou?r)?\s+(?:to\s+|into\s+|in\s+)?"
            r"(?P<colour>#[0-9a-f]{3,8}|(?:rgb|hsl)a?\(.+\)|(?:light|dark|deep|pale)?\s?[a-z]+)$"
        ),
        paint_elements,
        "make the title red",
    ),
)
