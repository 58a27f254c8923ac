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
    text = 'author = "Jo"\ndate = 2026-11-15\n[requirements]\n"ping.empty-result" = "It is {}."\n'
    assert read(tmp_path, text) == {"ping.empty-result": "It is {}. (Jo, 2026-11-15)"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("author = ", "is not valid TOML"),
        ('author = "Jo"', "needs `author` and a table"),
        ('[requirements]\n"ping.empty-result" = "x"', "needs `author` and a table"),
        (
            'author = "Jo"\nrow = 1',
            "has the unknown key 'row'; expected author, date, requirements",
        ),
        (
            'author = "Jo"\n[requirements]\n"ping.empty-reslut" = "x"',
            "did you mean 'ping.empty-result'?",
        ),
        ('author = "Jo"\n[requirements]\n"ping.empty-result" = " "', "has no statement for"),
        ('author = "Jo"\n[requirements]\n"ping.empty-result" = true', "has no statement for"),
    ],
)
def test_an_invalid_file_is_rejected(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert expected in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml cannot be read"):
        read_attestation(tmp_path / "none.toml")
