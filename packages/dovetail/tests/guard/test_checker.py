"""The checker tests a guarded server against the specification."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.guard.calls import get_token
from tests.guard.conftest import Place


@pytest.mark.slow
def test_the_checker_finds_no_problems_in_a_guarded_server(place: Place) -> None:
    token = get_token(place.provider.issuer, place.url, "notes:read notes:write")
    header = f"Authorization: Bearer {token}"
    words = [sys.executable, "-m", "dovetail", "check", place.url, "--header", header]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "0 failed, 0 warnings" in ended.stdout, ended.stdout
    assert ended.returncode == 0
    assert token not in ended.stdout
