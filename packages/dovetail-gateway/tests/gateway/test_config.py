"""What in the settings of a gateway does not fit together."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.mount import ToolTransform
from dovetail_gateway import (
    GatewayConfig,
    GatewayConfigError,
    UpstreamEntry,
)

URL = "https://shop.example/mcp"
SECRET = "s3cr3t-canary"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "u: needs either 'url' or 'command'"),
        ({"url": URL, "command": "x"}, "u: needs either 'url' or 'command'"),
        ({"url": URL, "args": ("x",)}, "u.args: needs 'command', not 'url'"),
        ({"url": URL, "cwd": "x"}, "u.cwd: needs 'command', not 'url'"),
        ({"command": "x", "headers": {"A": "b"}}, "u.headers: needs 'url', not 'command'"),
        ({"command": "x", "auth": "login"}, "u.auth: needs 'url', not 'command'"),
        ({"url": SECRET}, "u.url: must begin with http:// or https://"),
        ({"url": URL, "connect_timeout": 0}, "u.connect_timeout: must be more than 0, got 0"),
        ({"url": URL, "timeout": -1}, "u.timeout: must be more than 0, got -1"),
        (
            {"url": URL, "token_env": "NOBODY_SETS_THIS"},
            "u: token_env: the environment variable 'NOBODY_SETS_THIS' is not set",
        ),
        (
            {"url": URL, "token_env": "HOME", "headers": {"authorization": "x"}},
            "u: token_env and headers.Authorization exclude each other; give one",
        ),
        (
            {"url": URL, "auth": "login", "headers": {"authorization": "x"}},
            "u: Pass either auth= or an Authorization header, not both",
        ),
        (
            {"url": "http://shop.example/mcp", "auth": "login"},
            "u: OAuth needs an https URL (http only for localhost), got http://shop.example",
        ),
        (
            {"url": URL, "auth": "caller"},
            "u.auth: must be 'login', got 'caller'; tokens of callers are never passed on",
        ),
        (
            {"url": URL, "tools": {"a": ToolTransform(name="c"), "b": ToolTransform(name="c")}},
            "u.tools: two tools would have the name 'c'",
        ),
    ],
)
def test_an_upstream_that_does_not_fit_together(given: dict[str, Any], problem: str) -> None:
    assert list(UpstreamEntry(**given).find_problems("u")) == [problem]


@pytest.mark.parametrize(
    "given",
    [
        {"url": URL, "headers": {"X-Key": "a"}},
        {"url": URL, "auth": "login"},
        {"url": URL, "token_env": "HOME"},
        {"command": "x", "args": ("y",), "env": {"A": "b"}, "cwd": "/"},
    ],
)
def test_an_upstream_that_fits(given: dict[str, Any]) -> None:
    assert list(UpstreamEntry(**given).find_problems("u")) == []


def test_how_to_reach_an_upstream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    entry = UpstreamEntry(url=URL, token_env="SHOP_TOKEN", headers={"X-Team": "a"})
    assert entry.connect_options()["headers"] == {
        "X-Team": "a",
        "Authorization": f"Bearer {SECRET}",
    }
    assert UpstreamEntry(url=URL, auth="login").connect_options()["auth"] is not None
    command = UpstreamEntry(command="x", args=("y",))
    assert command.connect_options()["target"] == {"command": "x", "args": ("y",)}


def test_secrets_are_not_in_the_repr() -> None:
    entry = UpstreamEntry(url=URL, headers={"A": SECRET}, env={"B": SECRET})
    assert SECRET not in repr(GatewayConfig(upstreams={"shop": entry}))


def test_prefixes_are_valid_and_do_not_overlap() -> None:
    upstream = UpstreamEntry(url=URL)
    names = {
        "shop": upstream,
        "@team/shop": upstream,
        "shop_b": upstream,
        "wrong": UpstreamEntry(url=URL, prefix="a b"),
        "none": UpstreamEntry(url=URL, prefix=""),
    }
    config = GatewayConfig(upstreams=names)
    assert config.prefix_of("@team/shop") == "team_shop"
    problems = list(config.find_problems(""))
    assert [problem.partition(":")[0] for problem in problems] == [
        "upstreams.wrong.prefix",
        "upstreams.none.prefix",
        "upstreams.shop and upstreams.shop_b",
    ]
    [problem] = GatewayConfig().find_problems("")
    assert problem.startswith("upstreams: there is none")


def test_an_error_lists_all_problems() -> None:
    error = GatewayConfigError("'a.toml'", ["x: y", "z"])
    assert str(error) == "'a.toml' has 2 problems:\n  x: y\n  z"
    assert str(GatewayConfigError("a", ["x"])).startswith("a has one problem:")
