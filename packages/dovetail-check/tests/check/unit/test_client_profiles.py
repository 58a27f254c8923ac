from __future__ import annotations

import pytest

from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, MODERN, REVISIONS, Revision
from dovetail_check.client_profiles import ClientProfile, capabilities_of, narrow_capabilities


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_minimal_profile_declares_nothing(revision: Revision) -> None:
    assert capabilities_of(ClientProfile.MINIMAL, revision) == {}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_full_profile_declares_what_the_revision_defines(revision: Revision) -> None:
    declared = capabilities_of(ClientProfile.FULL, revision)
    assert ("elicitation" in declared) == revision.elicitation
    assert ("extensions" in declared) == revision.extensions
    assert ("tools" in declared["sampling"]) == revision.sampling_tools


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_basic_profile_declares_no_options(revision: Revision) -> None:
    assert all(value == {} for value in capabilities_of(ClientProfile.BASIC, revision).values())


def test_roots_list_changed_is_declared_in_legacy_revisions() -> None:
    for revision in LEGACY:
        assert capabilities_of(ClientProfile.FULL, revision)["roots"] == {"listChanged": True}
    for revision in MODERN:
        assert capabilities_of(ClientProfile.FULL, revision)["roots"] == {}


def test_narrow_capabilities_are_parts_of_the_full_profile() -> None:
    everything = capabilities_of(ClientProfile.FULL, LATEST_LEGACY)
    narrow = narrow_capabilities()
    assert narrow["nothing"] == {}
    assert all(len(declared) <= 1 for declared in narrow.values())
    assert {name for declared in narrow.values() for name in declared} == everything.keys()
