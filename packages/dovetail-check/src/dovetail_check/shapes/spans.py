"""The words that the tables are written in: what a member is, and in which revisions.

A member is called `name`, or `name?` where it may be left out. What it is, is written as
    string integer number boolean object any null     the kinds of JSON; integer takes 2.0 as well
    'text'                                            just this string
    fraction                                          a number from 0 to 1
    count                                             an integer that is not negative
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
    """What something is from one revision to another."""

    what: str
    first: Revision
    last: Revision


# What something is everywhere, or from when to when.
Entry: TypeAlias = str | Span | tuple[Span, ...]
Members: TypeAlias = Mapping[str, Entry]


class Choice(NamedTuple):
    """A shape that one of its own members picks: content by its `type`."""

    member: str
    shapes: Mapping[str, Entry]
    # The value that stands for a member that is left out.
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
    """What an entry is at a revision; None where it does not exist there."""
    if isinstance(entry, str):
        return entry
    spans = (entry,) if isinstance(entry, Span) else entry
    for span in spans:
        if span.first.order <= revision.order <= span.last.order:
            return span.what
    return None
