"""The revisions: their order and their properties."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_types import version

from dovetail.spec import revisions
from dovetail.spec.revisions import (
    HEADERLESS,
    LATEST_LEGACY,
    LEGACY,
    MODERN,
    REVISIONS,
    Family,
    Revision,
    StructuredOutput,
    find_revision,
)

DATES = [revision.date for revision in REVISIONS]
BLOCKS = {"text", "image", "resource"}


def test_the_revisions_and_their_families_are_the_official_ones() -> None:
    assert tuple(DATES) == version.KNOWN_PROTOCOL_VERSIONS
    assert tuple(r.date for r in LEGACY) == version.HANDSHAKE_PROTOCOL_VERSIONS
    assert tuple(r.date for r in MODERN) == version.MODERN_PROTOCOL_VERSIONS
    assert LATEST_LEGACY.date == version.LATEST_HANDSHAKE_VERSION
    assert {r.family for r in LEGACY} == {Family.LEGACY}
    assert {r.family for r in MODERN} == {Family.MODERN}


def test_a_request_without_a_version_header_is_of_the_first_revision_with_http() -> None:
    assert HEADERLESS.date == "2025-03-26"


def test_the_revisions_are_in_chronological_order() -> None:
    assert [revision.order for revision in REVISIONS] == list(range(len(REVISIONS)))
    assert sorted(DATES) == DATES
    assert LEGACY[-1].precedes(MODERN[0])
    assert not any(one.precedes(one) or MODERN[0].precedes(one) for one in LEGACY)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_revision_is_found_by_its_date_and_named_by_a_constant(revision: Revision) -> None:
    assert find_revision(revision.date) is revision
    assert getattr(revisions, f"V{revision.date.replace('-', '_')}") is revision
    assert str(revision) == revision.date
    assert repr(revision) == f"<Revision {revision.date}>"


@pytest.mark.parametrize("date", ["", "1900-01-01", "2025-11-26", "DRAFT-2025-v1", "2025-11-25 "])
def test_an_unknown_date_has_no_revision(date: str) -> None:
    assert find_revision(date) is None


# One column for each revision, from the changelogs of the specification.
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("batching", [False, True, False, False, False]),
        ("priming_events", [False, False, False, True, False]),
        ("openid_discovery", [False, False, False, True, True]),
        ("structured_output", ["none", "none", "object", "object", "any"]),
        ("resource_not_found", [-32002, -32002, -32002, -32002, -32602]),
        ("unreadable_id", [b"null", b"null", b"null", None, None]),
        (
            "content_types",
            [
                BLOCKS,
                BLOCKS | {"audio"},
                BLOCKS | {"audio", "resource_link"},
                BLOCKS | {"audio", "resource_link"},
                BLOCKS | {"audio", "resource_link"},
            ],
        ),
        ("elicitation", [False, False, True, True, True]),
        ("elicitation_defaults", [False, False, False, True, True]),
        ("titled_enums", [False, False, False, True, True]),
        ("url_elicitation", [False, False, False, True, True]),
        ("url_elicitation_id", [False, False, False, True, False]),
        ("sampling_tools", [False, False, False, True, True]),
        ("progress_message", [False, True, True, True, True]),
        ("completions_capability", [False, True, True, True, True]),
        ("extensions", [False, False, False, False, True]),
    ],
)
def test_each_revision_has_what_its_specification_has(name: str, values: list[Any]) -> None:
    found = [getattr(revision, name) for revision in REVISIONS]
    assert [v.value if isinstance(v, StructuredOutput) else v for v in found] == values
