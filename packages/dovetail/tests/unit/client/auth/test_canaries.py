"""No secret appears in any output: each one is unique, and everything written is searched."""

from __future__ import annotations

import contextlib
import logging
import traceback
from pathlib import Path
from typing import Any

import pytest

from dovetail import Client
from dovetail.client.auth import (
    AuthorizationCode,
    FileStore,
    LoopbackBrowser,
    OAuth,
    find_login,
    login,
)
from dovetail.errors import DovetailError
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import Asked, FakeAuthority, Reply, fake_authority
from tests.unit.client.auth.test_user_agent import Person

CANARY = "canary4711"


def repeat_everything(asked: Asked) -> Reply:
    """A server that puts all it was sent into its error."""
    sent = f"{asked.form} {asked.headers}"
    return Reply(400, {"error": "invalid_request", "error_description": sent})


@pytest.mark.parametrize("broken", [None, "/token", "/mcp"])
def test_no_secret_is_written_anywhere_but_into_the_store(
    broken: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []

    async def use() -> None:
        async with fake_authority() as fake:
            fake.prefix = CANARY
            fake.needed = {"write"}
            person = Person()
            agent = LoopbackBrowser(open_browser=False, show=person.read, timeout=CAP)
            auth = OAuth(
                client_id=f"{CANARY}-client",
                client_secret=f"{CANARY}-secret",
                store=FileStore(tmp_path / "tokens"),
                grant=AuthorizationCode(agent),
            )
            shown.append(repr(auth))
            await _use(fake, auth, broken, shown)
            with contextlib.suppress(DovetailError):
                await person.done()

    run(use())
    # The browser of the test writes down what it visits.
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("http")]
    written = [*shown, *logged, *capfd.readouterr()]
    # The client id is no secret.
    text = "\n".join(written).replace(f"{CANARY}-client", "")
    assert CANARY not in text
    kept = b"".join(file.read_bytes() for file in (tmp_path / "tokens").glob("*.json"))
    assert (CANARY.encode() in kept) is (broken != "/token")


async def _use(fake: FakeAuthority, auth: OAuth, broken: str | None, shown: list[str]) -> None:
    try:
        if broken == "/mcp":
            await login(fake.url, auth)
        if broken is not None:
            fake.pages[broken] = repeat_everything
        async with Client(fake.url, auth=auth, mode="modern", timeout=CAP) as client:
            await client.call("work")
            fake.tokens.clear()
            await client.call("work")
            shown.append(repr(find_login(fake.url, auth)))
            shown.append(repr(client.__dict__))
    except DovetailError as error:
        found: Any = traceback.TracebackException.from_exception(error, capture_locals=False)
        shown.extend(found.format())
