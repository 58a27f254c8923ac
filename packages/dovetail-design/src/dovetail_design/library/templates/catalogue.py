"""All templates of the studio, by id, and how they are found."""

from __future__ import annotations

from dovetail_design.library.ranking import rank
from dovetail_design.library.templates import cards, documents, papers, slides, social
from dovetail_design.library.templates.template import Template

__all__ = ["CATEGORIES", "TEMPLATES", "find_template", "list_templates", "search_templates"]

TEMPLATES: dict[str, Template] = {
    template.id: template
    for module in (social, slides, cards, papers, documents)
    for template in module.TEMPLATES
}
CATEGORIES: tuple[str, ...] = tuple(
    dict.fromkeys(template.category for template in TEMPLATES.values())
)


def list_templates(category: str | None = None) -> list[Template]:
    """The templates of a category, or all; none for an unknown category."""
    wanted = None if category is None else category.strip().lower()
    return [one for one in TEMPLATES.values() if wanted in (None, "all", one.category)]


def find_template(id: str) -> Template | None:
    """The template of this id, or None."""
    return TEMPLATES.get(id)


def search_templates(query: str) -> list[Template]:
    """Templates that fit the words, best first."""
    found = {
        id: [*id.split("-"), *one.tags, one.category, *one.description.lower().split()]
        for id, one in TEMPLATES.items()
    }
    return [TEMPLATES[id] for id in rank(query, found)]
