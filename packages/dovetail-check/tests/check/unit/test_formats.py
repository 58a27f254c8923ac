from __future__ import annotations

from typing import Any

import pytest

from dovetail_check.formats import (
    base64_problem,
    mime_problem,
    template_problem,
    timestamp_problem,
    uri_problem,
)

STRANGE: list[Any] = [None, 5, True, [], {}, b"x"]


@pytest.mark.parametrize(
    "uri",
    [
        "file:///a/b.txt",
        "note://first",
        "urn:isbn:0451450523",
        "mailto:nobody@example.com",
        "https://[::1]:80/a?b=c&d#e",
        "x+y-z.1:%20",
        "data:,",
    ],
)
def test_uris(uri: str) -> None:
    assert uri_problem(uri) is None


@pytest.mark.parametrize(
    "text",
    ["", "first", "/a/b", "note://first note", "1x:y", "x:%2", "x:ü", "x:\n", "x:a#b#c", "x:{id}"],
)
def test_invalid_uris(text: str) -> None:
    assert uri_problem(text) is not None


@pytest.mark.parametrize(
    "template",
    ["note://{id}", "x://a{?q,limit}", "x:{+path}", "x:{/a*}", "x:{v:3}", "x:plain", "x:{a.b}"],
)
def test_templates(template: str) -> None:
    assert template_problem(template) is None


@pytest.mark.parametrize("text", ["x:{id", "x:id}", "x:{}", "x:{a b}", "x:{{a}}", "x:{a,}"])
def test_invalid_templates(text: str) -> None:
    assert template_problem(text) is not None


def test_base64() -> None:
    assert base64_problem("AAEC") is None
    assert base64_problem("AA==") is None
    assert base64_problem("") is None
    assert base64_problem("AAE") is not None
    assert base64_problem("AA-_") is not None
    assert base64_problem("AA EC") is not None


def test_mime_types() -> None:
    for text in ("text/plain", "text/html; charset=utf-8", "image/svg+xml", "inode/directory"):
        assert mime_problem(text) is None
    for text in ("text", "", "text/", "/plain", "text/pl ain"):
        assert mime_problem(text) is not None


def test_timestamps() -> None:
    for text in ("2025-01-12T15:00:58Z", "2025-01-12T15:00:58.123+01:00", "2025-01-12"):
        assert timestamp_problem(text) is None
    for text in ("yesterday", "", "12.1.2025"):
        assert timestamp_problem(text) is not None


@pytest.mark.parametrize("value", STRANGE)
def test_whatever_comes_is_taken(value: Any) -> None:
    for find_problem in (
        uri_problem,
        template_problem,
        base64_problem,
        mime_problem,
        timestamp_problem,
    ):
        assert find_problem(value) is not None
