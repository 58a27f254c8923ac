"""The inventory: every normative statement of the specification about servers, as data.

`inventory.json` paraphrases each requirement; `spec` names the page and section. An entry has the
revisions, the level, and whether the requirement can be tested from outside.
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
    """The strength of a requirement."""

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

_TESTABLE = ("yes", "yes-if-server-has-feature")


class Requirement(Struct, frozen=True, kw_only=True):
    """One requirement."""

    id: str
    area: str
    # The keyword of the specification: MUST, SHOULD NOT, ...
    level: str
    # keyword, schema, jsonrpc, rfc, or derived: implied but not stated, so it only warns.
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
        """The level without NOT."""
        return _LEVELS[self.level]

    @property
    def is_testable(self) -> bool:
        """Whether it can be tested from outside on any server that has the feature."""
        return self.testable in _TESTABLE

    @property
    def is_derived(self) -> bool:
        """Whether the specification implies it but does not state it."""
        return self.basis == "derived"

    @property
    def revisions(self) -> tuple[Revision, ...]:
        """The revisions that contain it, oldest first."""
        return tuple(revision for revision in REVISIONS if revision.date in self.versions)


@cache
def load() -> tuple[Requirement, ...]:
    """Return all requirements, in the order of the specification."""
    text = files("dovetail_check").joinpath("inventory.json").read_bytes()
    return codec.decode_as(tuple[Requirement, ...], text)


@cache
def by_id() -> dict[str, Requirement]:
    """Return all requirements by id."""
    return {row.id: row for row in load()}
