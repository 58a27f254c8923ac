"""The `dovetail keys` commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.auth import ApiKeys, Principal
from dovetail.cli.app import app
from dovetail.runtime.key_files import parse_state_keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def keys(file: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["keys", *words, "--file", str(file)], obj=[])


def facts(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_key_is_printed_alone_and_works(file: Path) -> None:
    made = keys(file, "add", "anna", "--scope", "a", "--scope", "b", "--expires", "90d")
    assert made.exit_code == 0
    [key] = made.stdout.splitlines()
    assert "Copy it now" in made.stderr
    found = ApiKeys(file).check(key.encode())
    assert isinstance(found, Principal)
    assert found.scopes == {"a", "b"}


def test_keys_are_listed_without_secrets(file: Path) -> None:
    assert keys(file, "list").stdout == "No keys.\n"
    key = keys(file, "add", "anna", "--scope", "a").stdout.strip()
    [listed] = facts(keys(file, "list", "--json"))
    assert (listed["label"], listed["scopes"], listed["state"]) == ("anna", ["a"], "active")
    assert listed["expires"] is None
    text = keys(file, "list").stdout
    assert text.split() == [listed["id"], "active", "a", "expires", "never", "anna"]
    assert key not in text


def test_a_key_is_rotated_and_revoked(file: Path) -> None:
    made = facts(keys(file, "add", "anna", "--json"))
    again = facts(keys(file, "rotate", made["id"], "--grace", "1h", "--json"))
    assert again["id"] == made["id"]
    for key in (made["key"], again["key"]):
        assert isinstance(ApiKeys(file).check(key.encode()), Principal)
    revoked = keys(file, "revoke", made["id"])
    assert revoked.stdout == f"Key {made['id']} (anna) is revoked.\n"
    assert facts(keys(file, "list", "--json"))[0]["state"] == "revoked"
    assert not isinstance(ApiKeys(file).check(again["key"].encode()), Principal)


def test_an_expired_key_is_listed_as_expired(file: Path) -> None:
    keys(file, "add", "anna", "--expires", "0s")
    assert facts(keys(file, "list", "--json"))[0]["state"] == "expired"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["add", ""], "needs a printable label"),
        (["add", "a", "--scope", "x y"], "a scope is printable"),
        (["add", "a", "--expires", "soon"], "90d"),
        (["revoke", "nobody"], "There is no key 'nobody'"),
        (["rotate", "nobody"], "There is no key 'nobody'"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(file: Path, words: list[str], complaint: str) -> None:
    result = keys(file, *words)
    assert result.exit_code == 2
    assert complaint in result.output


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    result = keys(tmp_path / "no" / "keys.json", "add", "anna")
    assert result.exit_code == 2
    assert "No such file or directory" in result.output


def test_a_state_key_is_new_each_time_and_fits_the_options() -> None:
    made = [CliRunner().invoke(app, ["keys", "state"], obj=[]).stdout for _ in range(2)]
    one, other = (parse_state_keys(text, "stdout") for text in made)
    assert one != other and len(one[0]) == 32
