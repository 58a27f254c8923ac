"""Comparing the settings of a gateway with its upstreams."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from dovetail.mount import ArgumentTransform, ToolTransform
from dovetail_gateway import GatewayConfig, UpstreamEntry, UpstreamReport, check_upstreams
from tests.gateway.test_building import OLD_SHOP
from tests.patience import CAP
from tests.peers.scripted import run

SHOP = UpstreamEntry(command=sys.executable, args=(str(OLD_SHOP),), connect_timeout=CAP)


def check(**upstreams: UpstreamEntry) -> dict[str, UpstreamReport]:
    reports = run(check_upstreams(GatewayConfig(upstreams=upstreams)))
    return {report.name: report for report in reports}


def problems(**settings: Any) -> list[str]:
    return check(shop=replace(SHOP, **settings))["shop"].problems


def test_what_an_upstream_offers() -> None:
    hidden = {"token": ToolTransform(hidden=True)}
    settings = replace(SHOP, exclude=("er*",), tools=hidden, prefix="s")
    assert check(shop=settings)["shop"] == UpstreamReport(
        name="shop", prefix="s", answers=True, revision="2024-11-05", tools=2
    )


def test_upstreams_that_do_not_answer_are_reported_beside_the_others() -> None:
    silent = UpstreamEntry(
        command=sys.executable, args=("-c", "import sys; sys.stdin.read()"), connect_timeout=0.5
    )
    found = check(
        missing=UpstreamEntry(command="/nowhere/program"),
        dead=UpstreamEntry(url="http://127.0.0.1:9/mcp", connect_timeout=CAP),
        silent=silent,
        shop=SHOP,
    )
    assert list(found) == ["missing", "dead", "silent", "shop"]
    assert [each.answers for each in found.values()] == [False, False, False, True]
    assert "/nowhere/program" in found["missing"].problems[0]
    assert "connection refused" in found["dead"].problems[0]
    assert "0.5 s" in found["silent"].problems[0]
    assert found["shop"].problems == []


def test_names_that_the_upstream_does_not_have() -> None:
    tools = {
        "pric": ToolTransform(hidden=True),
        "price": ToolTransform(arguments={"itme": ArgumentTransform(name="x")}),
    }
    assert problems(tools=tools, include=("pri*", "zz*"), exclude=("erase", "yy")) == [
        "include: nothing has a name like 'zz*'",
        "exclude: nothing has a name like 'yy'",
        "tools.pric: the upstream has no tool of this name; did you mean 'price'?",
        "tools.price: tool 'price' has no argument 'itme'; it has 'item', 'currency'",
    ]


def test_a_name_that_another_tool_has() -> None:
    taking = ToolTransform(name="meta")
    [problem] = problems(tools={"price": taking})
    assert problem.startswith("tools.price.name: the upstream has another tool 'meta'")
    away = (ToolTransform(hidden=True), ToolTransform(name="old_meta"))
    assert [problems(tools={"price": taking, "meta": each}) for each in away] == [[], []]
    assert problems(tools={"price": taking}, exclude=("meta",)) == []
