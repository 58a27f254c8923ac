"""Which requests have no certain end; tests/http_corpus sends them to real servers."""

from __future__ import annotations

import sys

import pytest

from dovetail.transports.streamable_http.security import framing_refusal, head_refusal

CHUNKED = {b"transfer-encoding": b"chunked"}


@pytest.mark.parametrize("needs_trusted_headers", [True, False])
def test_two_lengths_are_refused(needs_trusted_headers: bool) -> None:
    both = {**CHUNKED, b"content-length": b"5"}
    refusal = framing_refusal(both, needs_trusted_headers=needs_trusted_headers)
    assert refusal is not None and refusal[0] == 400
    length = {b"content-length": b"5"}
    assert framing_refusal(length, needs_trusted_headers=needs_trusted_headers) is None


@pytest.mark.parametrize(
    ("is_loaded", "needs_trusted_headers", "status"),
    [(True, True, 411), (True, False, None), (False, True, None)],
)
def test_trailers_could_be_headers_in_uvicorn_with_httptools(
    monkeypatch: pytest.MonkeyPatch,
    is_loaded: bool,
    needs_trusted_headers: bool,
    status: int | None,
) -> None:
    name = "uvicorn.protocols.http.httptools_impl"
    if is_loaded:
        monkeypatch.setitem(sys.modules, name, sys)
    else:
        monkeypatch.delitem(sys.modules, name, raising=False)
    refusal = framing_refusal(CHUNKED, needs_trusted_headers=needs_trusted_headers)
    assert (None if refusal is None else refusal[0]) == status


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        ("1.1", {b"host": b"a"}, None),
        ("1.1", {}, 400),
        ("1.0", {}, None),
        ("2", {}, None),
        ("2.0", {b"host": b"a"}, 505),
        ("0.9", {}, 505),
    ],
)
def test_versions(version: str, headers: dict[bytes, bytes], status: int | None) -> None:
    scope = {"http_version": version, "headers": list(headers.items())}
    refusal = head_refusal(scope, headers, ())
    assert (None if refusal is None else refusal[0]) == status


def test_only_headers_that_must_be_single_may_not_be_repeated() -> None:
    raw = [(b"host", b"a"), (b"accept", b"x"), (b"accept", b"y")]
    scope = {"http_version": "1.1", "headers": raw}
    assert head_refusal(scope, dict(raw), [b"host"]) is None
    assert head_refusal(scope, dict(raw), [b"accept"]) is not None
