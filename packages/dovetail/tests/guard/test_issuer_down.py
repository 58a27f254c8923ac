"""The authorization server goes away, comes back, changes its key."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.guard.calls import bearer, call_tool, get_token
from tests.guard.processes import Provider, notes_server


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[Provider]:
    provider = Provider(tmp_path)
    provider.start()
    yield provider
    provider.stop()


def until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_keys_that_are_there_go_on_serving_and_then_nobody_can_be_known(
    mortal: Provider, tmp_path: Path
) -> None:
    oauth = {"key_lifetime": 0.1, "key_patience": 2.0, "key_cooldown": 0.1, "remember": 0}
    with notes_server(tmp_path / "s", issuer=mortal.issuer, oauth=oauth) as running:
        url = running.ready
        token = bearer(get_token(mortal.issuer, url, "notes:read"))
        assert call_tool(url, "who", token).status_code == 200
        mortal.stop()
        # Its keys are old by now, and cannot be fetched.
        assert call_tool(url, "who", token).status_code == 200
        until(lambda: call_tool(url, "who", token).status_code == 503)
        refused = call_tool(url, "who", token)
        assert refused.headers["retry-after"] == "10"
        assert "jwks" not in refused.text
        # A token that is plainly wrong needs no issuer to be refused.
        assert call_tool(url, "who", bearer("garbage")).status_code == 401
        mortal.start()
        until(lambda: call_tool(url, "who", token).status_code == 200)


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_server_that_never_saw_the_issuer_says_so(tmp_path: Path, mortal: Provider) -> None:
    with notes_server(tmp_path / "s", issuer=mortal.issuer) as running:
        token = bearer(get_token(mortal.issuer, running.ready, "notes:read"))
        mortal.stop()
        assert call_tool(running.ready, "who", token).status_code == 503


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_new_key_is_found_and_the_old_one_is_forgotten(mortal: Provider, tmp_path: Path) -> None:
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
