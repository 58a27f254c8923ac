"""The notation of the tables: the type of a member, and the revisions that have it.

A member is named `name`, or `name?` if it is optional. Its type is written as
    string integer number boolean object any null     JSON types; integer also accepts 2.0
    'text'                                            exactly this string
    fraction                                          a number from 0 to 1
    count                                             a non-negative integer
    [X] {X}                                           an array of X; an object whose values are X
    X | Y                                             one or the other
    Tool                                              another shape, by name
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from dovetail.spec.revisions import REVISIONS, Revision

__all__ = ["Choice", "Entry", "Members", "Span", "at", "only", "since", "until"]

_FIRST, _LAST = REVISIONS[0], REVISIONS[-1]


class Span(NamedTuple):
    """A type, and the first and last revision that has it."""

    what: str
    first: Revision
    last: Revision


# A type in all revisions, or in one or more spans.
Entry: TypeAlias = str | Span | tuple[Span, ...]
Members: TypeAlias = Mapping[str, Entry]


class Choice(NamedTuple):
    """A shape that one of its members selects, such as content by its `type`."""

    member: str
    shapes: Mapping[str, Entry]
    # The value that applies if the member is missing.
    default: str | None = None


def since(first: Revision, what: str) -> Span:
    """From a revision on."""
    return Span(what, first, _LAST)


def until(last: Revision, what: str) -> Span:
    """Up to a revision, this one included."""
    return Span(what, _FIRST, last)


def only(revision: Revision, what: str) -> Span:
    """At one revision."""
    return Span(what, revision, revision)


def at(revision: Revision, entry: Entry) -> str | None:
    """The type of an entry at a revision; None if the revision does not have it."""
    if isinstance(entry, str):
        return entry
    spans = (entry,) if isinstance(entry, Span) else entry
    for span in spans:
        if span.first.order <= revision.order <= span.last.order:
            return span.what
    return None
