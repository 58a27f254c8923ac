"""Pages of lists: encoded once per revision and cursor, dropped on change, bounded."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Options, Server
from dovetail.core.principal import Visibility
from tests.unit.talk import LEGACY, MODERN, answer, ask, refusal, run

LISTS = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
]


def full_server(**options: Any) -> Server:
    server = Server("s", options=Options(**options))
    for name in "abcde":
        server.tools.add(lambda: "x", name=name)
        server.prompts.add(lambda: "x", name=name)
        server.resources.add(f"n://{name}", lambda: "x", name=name)
        server.resources.add(f"n://{name}/{{v}}", lambda v: "x", name=name)
    return server


@pytest.mark.parametrize(("method", "member"), LISTS)
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("size", [1, 2, 5, 6, None])
def test_following_the_cursors_gives_every_entry_once_and_in_order(
    method: str, member: str, revision: str, size: int | None
) -> None:
    server = full_server(page_size=size)
    names: list[str] = []
    cursor: str | None = None
    pages = 0
    while True:
        page = ask(server, method, {"cursor": cursor} if cursor else None, revision=revision)
        names += [entry["name"] for entry in page[member]]
        pages += 1
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert names == list("abcde")
    assert pages == -(-5 // (size or 5))


@pytest.mark.parametrize("cursor", ["", "nonsense", "AAAAAAAAAA"])
def test_a_cursor_of_no_list_of_ours_is_refused(cursor: str) -> None:
    error = refusal(full_server(page_size=2), "tools/list", {"cursor": cursor})
    assert error["code"] == -32602
    assert "start again without a cursor" in error["message"]


def test_a_cursor_of_another_list_is_refused() -> None:
    server = full_server(page_size=2)
    cursor = ask(server, "tools/list")["nextCursor"]
    assert refusal(server, "prompts/list", {"cursor": cursor})["code"] == -32602


def test_a_page_is_encoded_once_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    server = full_server()
    pages: list[str | None] = []
    page = server.tools.registry.page

    def counted(cursor: str | None, visibility: Visibility | None) -> Any:
        pages.append(cursor)
        return page(cursor, visibility)

    monkeypatch.setattr(server.tools.registry, "page", counted)
    ask(server, "tools/list")
    ask(server, "tools/list")
    assert pages == [None]
    ask(server, "tools/list", revision=MODERN)
    assert pages == [None, None]
    server.tools.remove("a")
    assert [tool["name"] for tool in ask(server, "tools/list")["tools"]] == list("bcde")
    assert pages == [None, None, None]


def test_the_pages_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.features.listing._MOST_CACHED_PAGES", 2)
    server = full_server(page_size=1)
    cursor = None
    for _ in range(5):
        page = ask(server, "tools/list", {"cursor": cursor} if cursor else None)
        assert len(server.tools.registry.encoded) <= 2
        cursor = page.get("nextCursor")
    assert [tool["name"] for tool in page["tools"]] == ["e"]


def test_hints_for_caches_come_from_the_options() -> None:
    server = full_server(list_ttl_ms=1500, list_scope="private")
    for method, _ in LISTS:
        result = run(answer(server, method, revision=MODERN))["result"]
        assert (result["ttlMs"], result["cacheScope"]) == (1500, "private")
