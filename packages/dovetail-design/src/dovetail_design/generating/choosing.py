"""Ranks templates for a task: by its words, then by the proportions of the canvas."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from dovetail_design.library.ranking import split_words, synonyms_of
from dovetail_design.library.templates import Template
from dovetail_design.results import TemplateView

__all__ = ["rank_templates"]

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


One = TypeVar("One", Template, TemplateView)


def rank_templates(
    task: str, templates: Sequence[One], size: tuple[int, int] | None = None
) -> list[One]:
    """Return the templates, best first; the same task and size always give the same order."""
    words = split_words(task)
    return sorted(templates, key=lambda one: -(_fit_words(words, one) + _fit_shape(one, size)))


def _fit_words(words: list[str], template: Template | TemplateView) -> float:
    name = {*template.id.split("-"), *split_words(template.name)}
    tags = {*template.tags, template.category}
    total = 0.0
    for word in dict.fromkeys(words):
        forms = {word, word.removesuffix("s")}
        if forms & name:
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


def _fit_shape(template: Template | TemplateView, size: tuple[int, int] | None) -> float:
    if size is None:
        return 0.0
    ratio = (template.width / template.height) / (size[0] / size[1])
    return -_SHAPE * min(max(ratio, 1 / ratio) - 1, 1)
