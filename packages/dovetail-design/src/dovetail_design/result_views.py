"""Records as answers: within the size of an answer, with the warnings that a change brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail_design.looking import find_warnings
from dovetail_design.results import Changed, DesignView, WarningView
from dovetail_design.storage import DesignRecord
from dovetail_design.studio import Change, Studio, show_moment
from dovetail_serverkit.budget import Budget

__all__ = ["MOST_WARNINGS", "changed", "design_uri", "fitting", "show_design", "warnings_of"]

MOST_WARNINGS = 20
_MOST_IDS = 200


def design_uri(id: str) -> str:
    """The resource of a design."""
    return f"canvelete://api/design/{id}"


def show_design(record: DesignRecord) -> DesignView:
    """A design as lists show it."""
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


def fitting(items: Sequence[Any], budget: Budget) -> list[Any]:
    """As many as fit into the answer, in order."""
    kept = []
    for item in items:
        if not budget.take(item):
            break
        kept.append(item)
    return kept


def warnings_of(studio: Studio, change: Change) -> tuple[list[WarningView], int]:
    """What looks wrong about the elements that were touched, and how much more there is."""
    ids = change.element_ids
    if change.is_whole:
        ids = [element["id"] for element in change.state["elements"]]
    found = find_warnings(studio, change.state, ids)
    return found[:MOST_WARNINGS], max(0, len(found) - MOST_WARNINGS)


def changed(studio: Studio, change: Change, message: str, *, dry_run: bool = False) -> Changed:
    """The answer to a change."""
    warnings, more = warnings_of(studio, change)
    if not change.is_new and not dry_run:
        message = f"Nothing changed: everything was so before. {message}"
    return Changed(
        design_id=change.record.id,
        version=change.record.version,
        element_ids=change.element_ids[:_MOST_IDS],
        warnings=warnings,
        more_warnings=more,
        message=message,
        dry_run=dry_run,
    )
