"""What extensions add to one tool or resource; bound once, when the entry is registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from dovetail.core.dispatch import MethodHandler
from dovetail.spec.revisions import Revision

__all__ = ["BindExtras", "EntryExtras"]


class EntryExtras(NamedTuple):
    """The additions to the entry of a list, and what runs around its handler."""

    change_entry: Callable[[dict[str, Any], Revision], None] | None = None
    wrap: Callable[[MethodHandler], MethodHandler] | None = None


# Gets the options of an entry and its name in errors.
BindExtras: TypeAlias = Callable[[Sequence[object], str], EntryExtras]
