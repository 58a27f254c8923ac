"""The page about the gateway names every key, and its file is valid."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from dovetail.auth import KeyFile
from dovetail.mount import ArgumentTransform, ToolTransform
from dovetail_gateway import (
    GuardSettings,
    ServerSettings,
    UpstreamEntry,
    build_gateway,
    read_gateway,
)
from tests.contracts.source_tree import ROOT

PAGE = (ROOT / "docs" / "gateway.md").read_text("utf-8")
TABLES = {
    "`[server]`": ServerSettings,
    "`[guard]`": GuardSettings,
    "`[upstreams.NAME]`": UpstreamEntry,
    "`[upstreams.NAME.tools.TOOL]`": ToolTransform,
    "`[upstreams.NAME.tools.TOOL.arguments.ARGUMENT]`": ArgumentTransform,
}


@pytest.mark.parametrize("heading", TABLES)
def test_the_table_has_every_key_and_no_other(heading: str) -> None:
    text = PAGE.split(f"\n{heading}: ", 1)[1]
    table = re.search(r"(?:^\|.*\n)+", text, re.M)
    assert table is not None
    first = [line.split("|")[1] for line in table[0].splitlines()[2:]]
    documented = [key for cell in first for key in re.findall(r"`(\w+)`", cell)]
    assert sorted(documented) == sorted(each.name for each in fields(TABLES[heading]))


def test_the_file_at_the_top_is_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "blue")
    block = re.search(r"```toml\n(.*?)```", PAGE, re.S)
    assert block is not None
    file = tmp_path / "gateway.toml"
    file.write_text(block[1])
    KeyFile(tmp_path / "keys.json").add("anna")
    config = read_gateway(str(file))
    assert config.upstreams["shop"].headers == {"X-Team": "blue"}
    assert build_gateway(config).name == "team"
