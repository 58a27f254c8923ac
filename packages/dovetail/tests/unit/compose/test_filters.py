"""`Filter`: include and exclude, for names and for URIs."""

from __future__ import annotations

import pytest

from dovetail.compose.mount.filters import Filter

TEMPLATE = "notes://{id}/text"


@pytest.mark.parametrize(
    ("include", "exclude", "name", "shown"),
    [
        (None, [], "get_item", True),
        (["get_*"], [], "get_item", True),
        (["get_*"], [], "delete_item", False),
        (["get_*"], ["get_i*"], "get_item", False),
        (None, ["{odd"], "{odd", False),
    ],
)
def test_names_match_patterns(
    include: list[str] | None, exclude: list[str], name: str, shown: bool
) -> None:
    assert Filter(include, exclude).shows(name) is shown


@pytest.mark.parametrize(
    ("include", "exclude", "uri", "templates", "shown"),
    [
        (None, ["notes://1/text"], "notes://1/text", [TEMPLATE], False),
        (None, ["notes://1/text"], "notes://%31/text", [TEMPLATE], False),
        (None, ["notes://1/text"], "notes://2/text", [TEMPLATE], True),
        # The template that serves the URI counts, known or as a pattern.
        (None, [TEMPLATE], "notes://1/text", [TEMPLATE], False),
        (None, [TEMPLATE], "notes://1/text", [], False),
        (None, [TEMPLATE], "notes://../text", [], False),
        (None, ["notes://{*"], "notes://1/text", [TEMPLATE], False),
        ([TEMPLATE], [], "notes://1/text", [TEMPLATE], True),
        ([TEMPLATE], [], "notes://1/text", [TEMPLATE, "notes://{other}/text"], True),
        (["notes://{i*"], [], "notes://1/text", [TEMPLATE, "notes://{other}/text"], False),
        ([TEMPLATE], [], "notes://1/draft", ["notes://{id}/draft"], False),
        # All spellings have to be included.
        (["notes://public/*"], [], "notes://public%2Fx", [], False),
        (["notes://public/*"], [], "notes://public/%78", [], True),
    ],
)
def test_uris_match_in_all_spellings_and_by_their_templates(
    include: list[str] | None, exclude: list[str], uri: str, templates: list[str], shown: bool
) -> None:
    assert Filter(include, exclude).shows_uri(uri, templates) is shown
