from __future__ import annotations

import pytest

from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, MODERN, REVISIONS, Revision
from dovetail_check.personas import Persona, capabilities_of, narrow_capabilities


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_bare_client_declares_nothing(revision: Revision) -> None:
    assert capabilities_of(Persona.BARE, revision) == {}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_capable_client_declares_only_what_the_revision_knows(revision: Revision) -> None:
    declared = capabilities_of(Persona.CAPABLE, revision)
    assert ("elicitation" in declared) == revision.elicitation
    assert ("extensions" in declared) == revision.extensions
    assert ("tools" in declared["sampling"]) == revision.sampling_tools


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_plain_client_declares_no_options(revision: Revision) -> None:
    assert all(value == {} for value in capabilities_of(Persona.PLAIN, revision).values())


def test_changes_of_roots_are_told_where_there_is_a_notification_for_it() -> None:
    for revision in LEGACY:
        assert capabilities_of(Persona.CAPABLE, revision)["roots"] == {"listChanged": True}
    for revision in MODERN:
        assert capabilities_of(Persona.CAPABLE, revision)["roots"] == {}


def test_one_thing_at_a_time_is_less_than_everything() -> None:
    everything = capabilities_of(Persona.CAPABLE, LATEST_LEGACY)
    narrow = narrow_capabilities()
    assert narrow["nothing"] == {}
    assert all(len(declared) <= 1 for declared in narrow.values())
    assert {name for declared in narrow.values() for name in declared} == everything.keys()
