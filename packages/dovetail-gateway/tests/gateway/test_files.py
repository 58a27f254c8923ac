"""Reading gateway.toml and mcp.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail.mount import ArgumentTransform, ToolTransform
from dovetail_gateway import (
    GatewayConfigError,
    SearchSettings,
    UpstreamEntry,
    read_gateway,
)

WHOLE = """
[server]
name = "team"
instructions = "Ask."

[guard]
rate = "10/s"
audit = "log/audit.jsonl"

[search]
pinned = ["shop_price"]

[upstreams.shop]
url = "https://${HOST_OF_SHOP}/mcp"
headers = { X-Key = "${KEY_OF_SHOP:-none}" }
include = ["get_*"]
exclude = ["get_all"]

[upstreams.shop.tools.get_price]
name = "price"
title = "Price"
description = "The ${price}."

[upstreams.shop.tools.get_price.arguments.item]
name = "product"
description = "What to buy."

[upstreams.shop.tools.get_price.arguments.currency]
value = "EUR"

[upstreams.files]
command = "files"
args = ["--root", "${HOST_OF_SHOP}"]
cwd = "data"
prefix = "f"
"""


def write(folder: Path, text: str, name: str = "gateway.toml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def problems_of(file: str) -> list[str]:
    with pytest.raises(GatewayConfigError) as caught:
        read_gateway(file)
    return caught.value.problems


def test_a_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST_OF_SHOP", "shop.example")
    config = read_gateway(write(tmp_path, WHOLE))
    assert (config.server.name, config.server.instructions) == ("team", "Ask.")
    assert config.search == SearchSettings(pinned=("shop_price",))
    assert config.guard.rate == "10/s"
    assert config.guard.audit == str(tmp_path / "log" / "audit.jsonl")
    item = ArgumentTransform(name="product", description="What to buy.")
    price = ToolTransform(
        name="price",
        title="Price",
        description="The ${price}.",
        arguments={"item": item, "currency": ArgumentTransform(value="EUR")},
    )
    assert config.upstreams["shop"] == UpstreamEntry(
        url="https://shop.example/mcp",
        headers={"X-Key": "none"},
        include=("get_*",),
        exclude=("get_all",),
        tools={"get_price": price},
    )
    assert config.upstreams["files"] == UpstreamEntry(
        command="files", args=("--root", "shop.example"), cwd=str(tmp_path / "data"), prefix="f"
    )


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = """
[gaurd]
[guard]
rate = "often"
[upstreams.a]
url = "https://a.example/${NOBODY_SETS_THIS}"
hedaers = {}
[upstreams.a_b]
command = 5
[upstreams.a.tools.x]
hiden = true
"""
    assert [problem.partition(":")[0] for problem in problems_of(write(tmp_path, text))] == [
        "upstreams.a.url",
        "gaurd",
        "guard.rate",
        "upstreams.a.hedaers",
        "upstreams.a.tools.x.hiden",
        "upstreams.a_b.command",
        "upstreams.a and upstreams.a_b",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[a\n", "not valid TOML: Expected ']' at the end of a table declaration (at line 1"),
        ("upstreams = 5", "upstreams: Expected `object`, got `int`"),
        ("upstreams.a = 5", "upstreams.a: expected a table, got `int`"),
        ("guard = 5", "guard: expected a table, got `int`"),
        ("", "upstreams: there is none"),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, text: str, problem: str) -> None:
    assert problems_of(write(tmp_path, text))[0].startswith(problem)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_gateway(str(tmp_path / "nowhere.toml"))


def mcp_json(folder: Path, **servers: Any) -> str:
    return write(folder, json.dumps({"mcpServers": servers}), "mcp.json")


def test_the_file_of_a_client(tmp_path: Path) -> None:
    file = mcp_json(
        tmp_path,
        files={"type": "stdio", "command": "files", "cwd": "data", "autoApprove": ["x"]},
        shop={"url": "https://shop.example/mcp", "headers": {"A": "b"}, "disabled": False},
        off={"command": "x", "disabled": True},
    )
    config = read_gateway(file)
    assert config.upstreams == {
        "files": UpstreamEntry(command="files", cwd=str(tmp_path / "data")),
        "shop": UpstreamEntry(url="https://shop.example/mcp", headers={"A": "b"}),
    }


def test_the_file_of_a_client_that_makes_no_sense(tmp_path: Path) -> None:
    assert problems_of(mcp_json(tmp_path, a={}, b=5)) == [
        "upstreams.a: needs either 'url' or 'command'",
        "upstreams.b: expected a table, got `int`",
    ]
    with pytest.raises(UsageError, match="has no object named mcpServers or servers"):
        read_gateway(write(tmp_path, "{}", "mcp.json"))
