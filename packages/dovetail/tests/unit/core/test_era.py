"""The interface of an era: the table of its revision, and what it leaves open."""

from __future__ import annotations

import pytest

from dovetail.core.era import CacheHint, Encoded, Era
from dovetail.spec.methods import methods_at
from dovetail.spec.revisions import REVISIONS, Revision
from tests.unit.fakes import PlainEra


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_an_era_knows_the_methods_of_its_revision(revision: Revision) -> None:
    era = PlainEra(revision)
    assert era.revision is revision
    assert era.methods == methods_at(revision)


def test_an_era_has_four_things_to_implement() -> None:
    assert Era.__abstractmethods__ == {"complete", "undeclared", "bad_answer", "ask"}


def test_a_result_may_be_shared_but_not_kept_unless_said_otherwise() -> None:
    assert CacheHint() == (0, "public")
    assert Encoded(b"{}").body == b"{}"


def test_an_interim_result_is_only_its_members_in_an_era_without_types_of_results() -> None:
    assert PlainEra(REVISIONS[0]).interim("task", {"a": 1}) == b'{"a":1}'
