"""The authorization server stops, restarts and changes its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deep.auth.calls import bearer, call_tool, get_token
from tests.deep.auth.processes import Provider, notes_server
from tests.patience import wait_until


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Provider]:
    provider = Provider(tmp_path)
    provider.start()
    yield provider
    provider.stop()


@pytest.mark.slow
def test_cached_keys_are_used_until_their_patience_ends(mortal: Provider, tmp_path: Path) -> None:
    patient = {"key_lifetime": 0.01, "key_patience": 3600, "key_cooldown": 0.1, "remember": 0}
    hasty = {**patient, "key_patience": 0.5}
    with (
        notes_server(tmp_path / "p", issuer=mortal.issuer, oauth=patient) as first,
        notes_server(tmp_path / "h", issuer=mortal.issuer, oauth=hasty) as second,
    ):
        tokens = {
            running.ready: bearer(get_token(mortal.issuer, running.ready, "notes:read"))
            for running in (first, second)
        }

        def status(url: str) -> int:
            code: int = call_tool(url, "who", tokens[url]).status_code
            return code

        assert [status(url) for url in tokens] == [200, 200]
        mortal.stop()
        url = second.ready
        wait_until(lambda: status(url) == 503)
        # Its keys are as old, and cannot be fetched either.
        assert status(first.ready) == 200
        refused = call_tool(url, "who", tokens[url])
        assert refused.headers["retry-after"] == "10"
        assert "jwks" not in refused.text
        # A token that is plainly wrong needs no issuer to be refused.
        assert call_tool(url, "who", bearer("garbage")).status_code == 401
        mortal.start()
        wait_until(lambda: status(url) == 200)


@pytest.mark.slow
def test_a_server_that_never_reached_the_issuer_returns_503(
    tmp_path: Path, mortal: Provider
) -> None:
    with notes_server(tmp_path / "s", issuer=mortal.issuer) as running:
        token = bearer(get_token(mortal.issuer, running.ready, "notes:read"))
        mortal.stop()
        assert call_tool(running.ready, "who", token).status_code == 503


@pytest.mark.slow
def test_a_new_key_is_fetched_and_the_old_one_is_dropped(mortal: Provider, tmp_path: Path) -> None:
    oauth = {"key_cooldown": 0, "remember": 60}
    with notes_server(tmp_path / "s", issuer=mortal.issuer, oauth=oauth) as running:
        url = running.ready
        old = bearer(get_token(mortal.issuer, url, "notes:read"))
        assert call_tool(url, "who", old).status_code == 200
        mortal.change_key()
        new = bearer(get_token(mortal.issuer, url, "notes:read"))
        assert call_tool(url, "who", new).status_code == 200
        # It has been found good before; but its key may have been stolen.
        assert call_tool(url, "who", old).status_code == 401
