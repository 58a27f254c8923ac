"""The stored login is sent to its server, and to no other one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail.cli.targets import make_auth, read_login_headers
from dovetail.client.auth import login
from tests.unit.client.auth.authority import Visitor, fake_authority
from tests.unit.client.auth.authority import make_auth as make_interactive


def test_the_headers_of_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    async def use() -> None:
        async with fake_authority() as fake:
            assert await asyncio.to_thread(read_login_headers, fake.url) == {}
            auth = make_auth(fake.url)
            assert auth is not None
            await login(fake.url, make_interactive(Visitor(), store=auth.store))
            headers = await asyncio.to_thread(read_login_headers, fake.url)
            assert headers["Authorization"].startswith("Bearer ")
            assert await asyncio.to_thread(read_login_headers, f"{fake.origin}/other") == {}

    asyncio.run(use())


def test_no_token_is_sent_over_plain_http() -> None:
    assert make_auth("http://example.org/mcp") is None
    assert read_login_headers("http://example.org/mcp") == {}
