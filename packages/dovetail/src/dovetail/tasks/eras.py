"""Finds the form of tasks that an era has."""

from __future__ import annotations

from dovetail.core.era import Era
from dovetail.tasks.legacy import LegacyTasks
from dovetail.tasks.modern import ModernTasks
from dovetail.tasks.shapes import TaskShape

__all__ = ["shape_of"]


def shape_of(era: Era) -> TaskShape:
    """Return the form of tasks in an era: where there are extensions, tasks are one."""
    return ModernTasks(era) if era.revision.extensions else LegacyTasks(era.revision)
