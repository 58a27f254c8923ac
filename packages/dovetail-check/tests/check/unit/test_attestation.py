"""Statements of the author."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_check.attestation import read_attestation


def read(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "attest.toml"
    path.write_text(text, "utf-8")
    return read_attestation(path)


def test_a_statement_is_signed_and_dated(tmp_path: Path) -> None:
    text = 'author = "Jo"\ndate = 2026-11-15\n[rows]\n"ping.empty-result" = "It is {}."\n'
    assert read(tmp_path, text) == {"ping.empty-result": "It is {}. (Jo, 2026-11-15)"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("author = ", "is no TOML"),
        ('author = "Jo"', "needs an author and a table"),
        ('[rows]\n"ping.empty-result" = "x"', "needs an author and a table"),
        ('author = "Jo"\nrow = 1', "has 'row'; expected author, date, rows"),
        ('author = "Jo"\n[rows]\n"ping.empty-reslut" = "x"', "did you mean 'ping.empty-result'?"),
        ('author = "Jo"\n[rows]\n"ping.empty-result" = " "', "says nothing of"),
        ('author = "Jo"\n[rows]\n"ping.empty-result" = true', "says nothing of"),
    ],
)
def test_a_file_that_says_nothing_useful_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml cannot be read"):
        read_attestation(tmp_path / "none.toml")
