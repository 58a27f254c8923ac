"""All embedded templates by id.

Each template is a file in `data/templates`. `index.json` there lists the ids in the order in which
they are shown.
"""

from __future__ import annotations

from functools import cache

from dovetail_design.library.data_files import read_json
from dovetail_design.library.templates.template import Template

__all__ = ["find_template", "list_templates"]


@cache
def _templates() -> dict[str, Template]:
    ids = read_json("templates/index.json", list[str])
    return {id: read_json(f"templates/{id}.json", Template) for id in ids}


def list_templates(category: str | None = None) -> list[Template]:
    """Return the templates of a category, or all; none for an unknown category."""
    wanted = None if category is None else category.strip().lower()
    return [one for one in _templates().values() if wanted in (None, "all", one.category)]


def find_template(id: str) -> Template | None:
    """Return the template with this id, or None."""
    return _templates().get(id)
