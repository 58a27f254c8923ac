"""Which template a prompt asks for: by its words first, by the proportions of the canvas second."""

from __future__ import annotations

import re
from collections.abc import Container

from dovetail_design.library.ranking import split_words, synonyms_of
from dovetail_design.library.templates import TEMPLATES, Template

__all__ = ["choose_template"]

_TAG, _PART_OF_NAME, _SYNONYM, _BEGINS = 3.0, 4.0, 0.8, 1.0
# Words that name a kind of thing weigh more than those that name a theme.
_KIND = 4.0
_KINDS = frozenset(
    re.findall(
        r"\w+",
        """certificate badge card poster flyer invitation invoice menu resume cv infographic
        newsletter book ticket voucher label slide presentation thumbnail pin story quote youtube
        instagram facebook twitter linkedin pinterest webinar birthday wedding hiring sale id
        closing agenda""",
    )
)
# At worst a canvas of other proportions costs as much as one good word.
_SHAPE = 3.0
# Each slot that the prompt says nothing for, and one that would have to be invented.
_OPEN_SLOT, _INVENTED = 0.15, 5.0
_MUST_BE_SAID = ("discount",)


def choose_template(
    prompt: str, said: Container[str] = (), size: tuple[int, int] | None = None
) -> Template:
    """The template that fits best; the same prompt and size give the same one."""
    words = split_words(prompt)
    scored = [
        (_fit_words(words, one) + _fit_shape(one, size) - _lack(one, said), -place, one)
        for place, one in enumerate(TEMPLATES.values())
    ]
    return max(scored, key=lambda row: row[:2])[2]


def _fit_words(words: list[str], template: Template) -> float:
    name = template.id.split("-")
    tags = {*template.tags, template.category}
    total = 0.0
    for word in dict.fromkeys(words):
        forms = {word, word.removesuffix("s")}
        if forms & set(name):
            total += _PART_OF_NAME
        elif forms & tags:
            total += _TAG
        elif forms & _KINDS:
            # It names a kind, and this is another.
            total -= _KIND / 2
            continue
        elif synonyms_of(word) & tags:
            total += _SYNONYM
            continue
        elif len(word) > 3 and any(tag.startswith(word) for tag in tags):
            total += _BEGINS
            continue
        else:
            continue
        if forms & _KINDS:
            total += _KIND
    return total


def _lack(template: Template, said: Container[str]) -> float:
    open_slots = [slot for slot in template.slots if slot not in said]
    invented = sum(slot in _MUST_BE_SAID for slot in open_slots)
    return min(len(open_slots), 12) * _OPEN_SLOT + invented * _INVENTED


def _fit_shape(template: Template, size: tuple[int, int] | None) -> float:
    if size is None:
        return 0.0
    ratio = (template.width / template.height) / (size[0] / size[1])
    return -_SHAPE * min(max(ratio, 1 / ratio) - 1, 1)
