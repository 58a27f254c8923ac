"""Lists that their author pages: behind the registered resources, at every revision, in order."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from dovetail import Context, Options, Resource, ResourcePage, Server
from dovetail.core.principal import Principal
from dovetail.errors import DuplicateError, UsageError
from tests.unit.talk import ERAS, LEGACY, MODERN, REVISIONS, Wire, answer, ask, refusal, run, turn

READER = Principal("reader", ["read"])


def resource(name: str) -> Resource:
    return Resource(uri=f"l://{name}", name=name, title=name.upper())


def pages_of(names: str) -> Callable[..., ResourcePage]:
    """A list of one resource per letter, whose cursor is the last letter shown."""

    def letters(cursor: str | None, limit: int) -> ResourcePage:
        left = names if cursor is None else names[names.index(cursor) + 1 :]
        shown = left[:limit]
        return ResourcePage([resource(n) for n in shown], shown[-1] if shown != left else None)

    return letters


def make_server(*lists: str, fixed: str = "", **options: Any) -> Server:
    server = Server("s", options=Options(**options))
    for name in fixed:
        server.resources.add(f"n://{name}", lambda: "x", name=name)
    for number, names in enumerate(lists):
        server.resource_list(name=f"list{number}", blocking=False)(pages_of(names))
    return server


def walk(server: Server, **how: Any) -> list[list[str]]:
    pages: list[list[str]] = []
    cursor: str | None = None
    while True:
        page = ask(server, "resources/list", {"cursor": cursor} if cursor else None, **how)
        pages.append([entry["name"] for entry in page["resources"]])
        cursor = page.get("nextCursor")
        if cursor is None:
            return pages


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("fixed", "lists", "size", "expected"),
    [
        ("", ["abc"], 2, ["ab", "c"]),
        ("x", ["abc"], 2, ["xa", "bc"]),
        ("xy", ["abc"], 2, ["xy", "ab", "c"]),
        ("xyz", ["abc"], 2, ["xy", "za", "bc"]),
        ("x", ["ab", "cd"], 3, ["xab", "cd"]),
        ("", ["", "cd"], 3, ["", "cd"]),
        ("x", ["abc"], None, ["xabc"]),
    ],
)
def test_the_registered_ones_come_first_and_every_resource_comes_once(
    revision: str, fixed: str, lists: list[str], size: int | None, expected: list[str]
) -> None:
    server = make_server(*lists, fixed=fixed, page_size=size)
    assert walk(server, revision=revision) == [list(page) for page in expected]


def test_a_list_is_asked_for_a_bounded_page_where_no_page_size_is_set() -> None:
    server = make_server()
    asked = []

    @server.resource_list(blocking=False)
    def endless(cursor: str | None, limit: int) -> ResourcePage:
        asked.append((cursor, limit))
        return ResourcePage([resource("a")], str(len(asked)))

    first = ask(server, "resources/list")
    ask(server, "resources/list", {"cursor": first["nextCursor"]})
    assert asked == [(None, 100), ("1", 100)]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_listed_resource_has_the_members_of_the_revision(revision: str) -> None:
    [listed] = ask(make_server("a"), "resources/list", revision=revision)["resources"]
    assert ("title" in listed) == (revision not in REVISIONS[:2])


def test_a_function_that_waits_and_one_that_takes_no_limit_can_list() -> None:
    server = Server("s", options=Options(page_size=1))

    @server.resource_list
    async def all_at_once(cursor: str | None, ctx: Context) -> ResourcePage:
        await turn()
        return ResourcePage((resource("a"), resource(ctx.client.name or "b")))

    assert walk(server) == [["a", "b"]]
    assert "logging" in server.capabilities()


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("cursor", ["", "x", "AAAAAAAAAA", "❄", "A" * 20_000])
def test_a_cursor_of_no_page_is_refused_as_for_other_lists(cursor: str, revision: str) -> None:
    error = refusal(make_server("ab"), "resources/list", {"cursor": cursor}, revision=revision)
    assert error["code"] == -32602
    assert "not one of the list of resources; start again without" in error["message"]


def test_a_list_makes_the_server_one_with_resources() -> None:
    assert "resources" not in make_server().capabilities()
    assert make_server("a").capabilities()["resources"] == {"listChanged": True, "subscribe": True}


def test_who_has_not_the_scopes_sees_nothing_of_a_list_and_its_function_is_not_run() -> None:
    server = make_server("ab", fixed="x", page_size=2)
    ran = []

    @server.resource_list(scopes={"read"}, blocking=False)
    def secret(cursor: str | None, ctx: Context) -> ResourcePage:
        ran.append(ctx.principal)
        return ResourcePage([resource("s")])

    assert walk(server) == [["x", "a"], ["b"]]
    assert ran == []
    assert walk(server, principal=READER) == [["x", "a"], ["b"], ["s"]]
    assert len(ran) == 1
    # A cursor of somebody who may leads others nowhere.
    cursor: str | None = None
    for _ in range(2):
        params = {"cursor": cursor} if cursor else None
        page = ask(server, "resources/list", params, principal=READER)
        cursor = page["nextCursor"]
    assert ask(server, "resources/list", {"cursor": cursor}) == {"resources": []}


def test_every_page_of_lists_that_differ_by_caller_is_private() -> None:
    def scope_of(server: Server, cursor: str | None = None) -> tuple[str, str | None]:
        params = {"cursor": cursor} if cursor else None
        result = run(answer(server, "resources/list", params, revision=MODERN))["result"]
        return result["cacheScope"], result.get("nextCursor")

    assert scope_of(make_server("ab"))[0] == "public"
    server = make_server("ab", page_size=1)
    server.resource_list(name="mine", scopes={"read"})(pages_of("c"))
    scope, cursor = scope_of(server)
    assert (scope, scope_of(server, cursor)[0]) == ("private", "private")


@pytest.mark.parametrize("revision", ERAS)
def test_clients_that_listen_are_told_that_a_list_has_changed(revision: str) -> None:
    async def told() -> int:
        server = make_server("a")
        await server.start()
        wire = await Wire(server, revision).open()
        if revision == MODERN:
            wire.put("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
            await wire.until(lambda m: "acknowledged" in m.get("method", ""))
        server.resource_list_changed()
        server.resource_list_changed()
        await turn(10)
        await wire.connection.close()
        return len(wire.heard("notifications/resources/list_changed"))

    assert run(told()) == 1


def nothing() -> ResourcePage:
    return ResourcePage([])


def other(page: int) -> ResourcePage:
    return ResourcePage([])


def more(cursor: str | None, size: int) -> ResourcePage:
    return ResourcePage([])


@pytest.mark.parametrize(
    ("function", "said"), [(nothing, "nothing"), (other, "page"), (more, "cursor, size")]
)
def test_a_function_that_cannot_page_is_refused_with_what_it_should_take(
    function: Callable[..., Any], said: str
) -> None:
    with pytest.raises(UsageError, match=f"a resource list takes cursor .* takes {said}$"):
        make_server().resource_list(function)


def test_two_lists_of_one_name_are_refused() -> None:
    server = make_server("a")
    with pytest.raises(DuplicateError, match="resource list 'list0' is registered already"):
        server.resource_list(name="list0")(pages_of("b"))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([resource("a")], "must return a ResourcePage(resources, cursor), got list"),
        (ResourcePage(["a://b"]), "the page has a str instead of a Resource"),  # type: ignore[list-item]
        (ResourcePage([Resource(uri="a", name="a")]), "needs a URI such as notes://today, got 'a'"),
        (ResourcePage([], 5), "is not empty, or None on the last page, got 5"),  # type: ignore[arg-type]
        (ResourcePage([], ""), "is not empty, or None on the last page, got ''"),
        (ResourcePage([], "c" * 9000), "up to 8,192 bytes of text, got 9,000: 'ccc"),
    ],
)
def test_what_is_no_page_is_logged_for_the_author(
    found: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_server()

    @server.resource_list(blocking=False)
    def bad(cursor: str | None) -> Any:
        return found

    with caplog.at_level(logging.ERROR, "dovetail"):
        assert refusal(server, "resources/list")["code"] == -32603
    assert "resource list 'bad' (test_resource_lists.py:" in caplog.text or "ccc" in said
    assert said in caplog.text


def test_a_list_that_goes_round_in_a_circle_is_stopped(caplog: pytest.LogCaptureFixture) -> None:
    server = make_server()

    @server.resource_list(blocking=False)
    def round_about(cursor: str | None) -> ResourcePage:
        return ResourcePage([resource("a")], "same")

    cursor = ask(server, "resources/list", revision=LEGACY)["nextCursor"]
    with caplog.at_level(logging.ERROR, "dovetail"):
        assert refusal(server, "resources/list", {"cursor": cursor})["code"] == -32603
    assert "resource list 'round_about' (test_resource_lists.py:" in caplog.text
    assert "the page has the cursor that it was called with, 'same'" in caplog.text
