"""Chooses the template for a prompt: by its words, then by the proportions of the canvas."""

from __future__ import annotations

import re
from collections.abc import Container

from dovetail_design.library.ranking import split_words, synonyms_of
from dovetail_design.library.templates import Template, list_templates

__all__ = ["choose_template"]

_TAG, _PART_OF_NAME, _SYNONYM, _BEGINS = 3.0, 4.0, 0.8, 1.0
# Words for a kind of design weigh more than words for a theme.
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
# Different proportions cost at most as much as one matching word.
_SHAPE = 3.0
# Penalties for a slot without a value in the prompt, and for one that must not be made up.
_OPEN_SLOT, _INVENTED = 0.15, 5.0
_MUST_BE_SAID = ("discount",)


def choose_template(
    prompt: str, known: Container[str] = (), size: tuple[int, int] | None = None
) -> Template:
    """Return the best template; the same prompt and size always give the same one."""
    words = split_words(prompt)
    scored = [
        (_fit_words(words, one) + _fit_shape(one, size) - _lack(one, known), -place, one)
        for place, one in enumerate(list_templates())
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
            # The word names another kind of design.
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


def _lack(template: Template, known: Container[str]) -> float:
    open_slots = [slot for slot in template.slots if slot not in known]
    invented = sum(slot in _MUST_BE_SAID for slot in open_slots)
    return min(len(open_slots), 12) * _OPEN_SLOT + invented * _INVENTED


def _fit_shape(template: Template, size: tuple[int, int] | None) -> float:
    if size is None:
        return 0.0
    ratio = (template.width / template.height) / (size[0] / size[1])
    return -_SHAPE * min(max(ratio, 1 / ratio) - 1, 1)
