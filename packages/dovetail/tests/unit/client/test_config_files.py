"""The configuration file of a client."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.client.targets import expand, read_servers
from dovetail.errors import UsageError


def test_variables_are_replaced_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOD", "loud")
    problems: list[str] = []
    given = {"a": ["${MOOD}-${env:MOOD}", 5], "b": {"c": "${NOBODY_SETS_THIS:-soft}"}, "d": True}
    expanded = {"a": ["loud-loud", 5], "b": {"c": "soft"}, "d": True}
    assert expand(given, "x", problems) == expanded
    assert problems == []


def test_every_missing_variable_is_named() -> None:
    problems: list[str] = []
    given = {"a": "${NOBODY_SETS_THIS}", "b": ["${input:key}"]}
    assert expand(given, "x", problems) == given
    assert problems == [
        "x.a: the environment variable 'NOBODY_SETS_THIS' is not set",
        "x.b: ${input:key} is only known to an editor; replace it by its value",
    ]


def test_servers_are_read_from_either_member(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    for member in ("mcpServers", "servers"):
        file.write_text(f'{{"{member}": {{"a": {{"command": "x"}}}}}}')
        assert read_servers(str(file)) == {"a": {"command": "x"}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[]", "has no object named"),
        ('{"servers": 1}', "has no object"),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=problem):
        read_servers(str(file))
    with pytest.raises(UsageError, match="cannot read"):
        read_servers(str(tmp_path / "nowhere.json"))
