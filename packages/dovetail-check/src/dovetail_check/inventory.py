"""The inventory: every normative statement about servers, one row each, as data.

`inventory.json` holds our own words for what the pages of the specification ask; `spec` names
the page and section. A row says in which revisions it holds, how strong the word is, and whether
a stranger can see from outside if it is kept.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from importlib.resources import files

from msgspec import Struct

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail.wire import codec

__all__ = ["Level", "Requirement", "by_id", "load"]


class Level(Enum):
    """How strong the word is."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"


_LEVELS = {
    "MUST": Level.MUST,
    "MUST NOT": Level.MUST,
    "SHOULD": Level.SHOULD,
    "SHOULD NOT": Level.SHOULD,
    "RECOMMENDED": Level.SHOULD,
    "MAY": Level.MAY,
    "OPTIONAL": Level.MAY,
}

_OUTSIDE = ("yes", "yes-if-server-has-feature")


class Requirement(Struct, frozen=True, kw_only=True):
    """One row."""

    id: str
    area: str
    # The word of the specification: MUST, SHOULD NOT, ...
    level: str
    # keyword, schema, jsonrpc, rfc; derived: a consequence that never fails a server alone.
    basis: str
    # yes, yes-if-server-has-feature, only-with-fixture, no
    testable: str
    # any, stdio, http, sse
    transport: str
    versions: tuple[str, ...]
    spec: str
    requirement: str
    probe: str
    note: str = ""

    @property
    def strength(self) -> Level:
        """The word without its direction."""
        return _LEVELS[self.level]

    @property
    def is_testable(self) -> bool:
        """Whether it can be judged from outside on any server that has the feature."""
        return self.testable in _OUTSIDE

    @property
    def is_derived(self) -> bool:
        """Whether no sentence of the specification says so outright."""
        return self.basis == "derived"

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """The revisions in which it holds, oldest first."""
        return tuple(revision for revision in REVISIONS if revision.date in self.versions)


@cache
def load() -> tuple[Requirement, ...]:
    """Every row, in the order of the specification's pages."""
    text = files("dovetail_check").joinpath("inventory.json").read_bytes()
    return codec.decode_as(tuple[Requirement, ...], text)


@cache
def by_id() -> dict[str, Requirement]:
    """Every row by its id."""
    return {row.id: row for row in load()}
