"""One server over two transports."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.differences import find_differences
from dovetail_check.frames import Frame
from dovetail_check.inventory import by_id
from dovetail_check.judging import Finding, RowReport
from dovetail_check.probe_sessions import Run
from dovetail_check.verdicts import Verdict


def exchange(session: str, n: int, tag: str, result: dict[str, Any]) -> list[Frame]:
    reply = codec.encode({"jsonrpc": "2.0", "id": n, "result": result}).decode()
    request = codec.encode({"jsonrpc": "2.0", "id": n, "method": "x"}).decode()
    at: dict[str, Any] = {"at": 0.0, "session": session, "connection": "main", "tag": tag}
    return [
        Frame(n=n, kind="sent", text=request, **at),
        Frame(n=n + 1, kind="received", of=n, text=reply, **at),
    ]


def run(transport: str, tools: list[dict[str, Any]], *dates: str, **opened: Any) -> Run:
    frames: list[Frame] = []
    for date in dates or ("2025-11-25",):
        name = f"{transport} {date}"
        usual = {"capabilities": {"tools": {}}, "serverInfo": {"name": "shop", "version": "1"}}
        frames += exchange(name, len(frames), "opening", {**usual, **opened})
        frames += exchange(name, len(frames), "walk/tools", {"tools": tools})
    return Run(transport, frames)


ADD = {"name": "add", "inputSchema": {"type": "object"}}


def test_equal_servers_do_not_differ_whatever_the_order_of_members() -> None:
    reordered = {"inputSchema": {"type": "object"}, "name": "add"}
    assert find_differences([run("stdio", [ADD]), run("http", [reordered])], []) == ()


def test_one_transport_has_nothing_to_differ_from() -> None:
    assert find_differences([run("stdio", [ADD])], []) == ()


def test_a_tool_that_only_one_transport_lists_is_reported() -> None:
    [found] = find_differences([run("stdio", [ADD]), run("http", [])], [])
    assert (found.revision, found.what) == ("2025-11-25", "tools: add")
    assert found.sides["http"] == "not listed"


def test_what_differs_at_several_revisions_alike_is_reported_once() -> None:
    dates = ("2025-06-18", "2025-11-25")
    [found] = find_differences([run("stdio", [ADD], *dates), run("http", [], *dates)], [])
    assert found.revision == "2025-06-18, 2025-11-25"


def test_declarations_names_and_revisions_are_compared() -> None:
    stdio = run("stdio", [], "2025-06-18", "2025-11-25")
    http = run("http", [], capabilities={}, serverInfo={"name": "other"}, instructions="Go.")
    found = {
        difference.what: difference.sides for difference in find_differences([stdio, http], [])
    }
    assert found["revisions supported"] == {"stdio": "2025-06-18, 2025-11-25", "http": "2025-11-25"}
    assert found["capabilities"] == {"stdio": '{"tools":{}}', "http": "{}"}
    assert found["name and version"] == {"stdio": "shop 1", "http": "other None"}
    assert found["instructions"] == {"stdio": "none", "http": "Go."}


def verdicts(**by_transport: Verdict) -> RowReport:
    findings = tuple(
        Finding(f"{transport} 2025-11-25", verdict, ())
        for transport, verdict in by_transport.items()
    )
    return RowReport(by_id()["ping.empty-result"], Verdict.FAIL, findings)


def test_a_requirement_that_only_one_transport_violates_is_reported() -> None:
    runs = [run("stdio", []), run("http", [])]
    [found] = find_differences(runs, [verdicts(stdio=Verdict.FAIL, http=Verdict.PASS)])
    assert (found.what, found.sides) == (
        "verdict of ping.empty-result",
        {"stdio": "fail", "http": "pass"},
    )


def test_a_requirement_that_was_not_observed_is_not_a_difference() -> None:
    runs = [run("stdio", []), run("http", [])]
    assert not find_differences(runs, [verdicts(stdio=Verdict.FAIL, http=Verdict.NOT_OBSERVED)])
    assert not find_differences(runs, [verdicts(stdio=Verdict.INFO, http=Verdict.PASS)])
