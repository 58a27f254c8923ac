"""The checker tests a guarded server against the specification."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.client.auth import AuthorizationCode, OAuth, login
from dovetail.net.addresses import parse_url
from tests.deep.auth.calls import get_token
from tests.deep.auth.conftest import Place
from tests.deep.auth.test_own_client import Anna


@pytest.mark.slow
def test_the_checker_finds_no_problems_in_a_guarded_server(place: Place) -> None:
    token = get_token(place.provider.issuer, place.url, "notes:read notes:write")
    header = f"Authorization: Bearer {token}"
    words = [sys.executable, "-m", "dovetail", "check", place.url, "--header", header]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "0 failed, 0 warnings" in ended.stdout, ended.stdout
    assert ended.returncode == 0
    assert token not in ended.stdout


@pytest.mark.slow
def test_the_checker_uses_the_stored_login(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [sys.executable, "-m", "dovetail", "check", place.url, "--only", "tools.*"]
    words += ["--evidence", str(tmp_path / "evidence")]
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    denied = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "only unauthenticated access" in " ".join(denied.stdout.split())
    auth = OAuth(grant=AuthorizationCode(Anna()))
    asyncio.run(login(place.url, auth))
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "0 failed, 0 warnings" in ended.stdout, ended.stdout + ended.stderr
    record = auth.authorize(parse_url(place.url)).login
    assert record is not None
    token = record.tokens.access_token
    written = [file.read_text() for file in (tmp_path / "evidence").rglob("*") if file.is_file()]
    assert written and not any(token in text for text in [*written, ended.stdout, ended.stderr])
