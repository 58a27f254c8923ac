"""Builds results from records, within the size limit, with the warnings of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_design.design_warnings import find_warnings
from dovetail_design.results import Changed, DesignView, WarningView
from dovetail_design.storage import DesignRecord
from dovetail_design.studio import Change, Studio, show_moment
from dovetail_serverkit.answer_size import AnswerBudget

__all__ = [
    "MOST_WARNINGS",
    "changed",
    "design_uri",
    "fit_budget",
    "fit_page",
    "show_design",
    "warnings_of",
]

MOST_WARNINGS = 20
_MOST_IDS = 200


def design_uri(id: str) -> str:
    """Return the resource URI of a design."""
    return f"canvelete://api/design/{id}"


def show_design(record: DesignRecord) -> DesignView:
    """Return a design as lists show it."""
    return DesignView(
        id=record.id,
        name=record.name,
        description=record.description,
        visibility=record.visibility,
        width=record.width,
        height=record.height,
        version=record.version,
        element_count=record.elements,
        created_at=show_moment(record.created),
        updated_at=show_moment(record.updated),
        deleted_at=show_moment(record.deleted) if record.deleted else None,
        uri=design_uri(record.id),
    )


def fit_budget(items: Sequence[Any], budget: AnswerBudget) -> list[Any]:
    """Return the first items that fit into the budget, and one in any case.

    Otherwise the next page would begin with the same item.
    """
    return budget.fitting(items, least=1)


def fit_page(items: Sequence[Any], page: int, limit: int, most: int) -> tuple[list[Any], bool]:
    """Return a page of at most `limit` items and `most` characters, and whether more follow.

    A page begins where the one before it ended, so that nothing is left out between them.
    """
    start, shown = 0, list[Any]()
    for _ in range(page):
        start += len(shown)
        shown = fit_budget(items[start : start + limit], AnswerBudget(most))
        if not shown:
            break
    return shown, start + len(shown) < len(items)


def warnings_of(studio: Studio, change: Change) -> tuple[list[WarningView], int]:
    """Return warnings about the changed elements, and how many were left out."""
    ids = change.element_ids
    if change.is_whole:
        ids = [element["id"] for element in change.state["elements"]]
    found = find_warnings(studio, change.state, ids, change.record.owner)
    return found[:MOST_WARNINGS], max(0, len(found) - MOST_WARNINGS)


def changed(studio: Studio, change: Change, message: str, *, dry_run: bool = False) -> Changed:
    """Return the result of a change."""
    warnings, more = warnings_of(studio, change)
    if not change.is_new and not dry_run:
        message = f"Nothing changed: the values are the same as before. {message}"
    return Changed(
        design_id=change.record.id,
        version=change.record.version,
        element_ids=change.element_ids[:_MOST_IDS],
        warnings=warnings,
        more_warnings=more,
        message=message,
        dry_run=dry_run,
    )
