"""All pages of the list of tools, for one caller."""

from __future__ import annotations

import json

import pytest

from dovetail import Options, Server, ToolSearch
from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import Encoded
from dovetail.errors import InternalError
from dovetail.spec.models import CallToolParams
from dovetail_gateway.tool_search import FullList, cache_hint, read_full_list
from tests.unit.talk import call, run, text_of


def asking() -> Call:
    call = Call(b"1", "tools/call", CallToolParams(name="t"), None, None)  # type: ignore[arg-type]
    call.services = call.link = None  # type: ignore[assignment]
    return call


def test_the_pages_of_a_list_are_joined() -> None:
    server = Server("s", tool_search=ToolSearch(), options=Options(page_size=2))
    for number in range(7):
        server.tools.add(lambda: "", name=f"mail_{number}", blocking=False)
    found = json.loads(text_of(call(server, "search_tools", {"query": "mail", "limit": 20})))
    assert [tool["name"] for tool in found["tools"]] == [f"mail_{number}" for number in range(7)]


def test_a_list_without_an_end_is_an_error() -> None:
    endless = MethodHandler(lambda _: Encoded(b'{"tools":[],"nextCursor":"x"}'))
    with pytest.raises(InternalError, match="more than 1000 pages"):
        run(read_full_list(asking(), endless))


def test_a_cursor_that_is_null_ends_the_list() -> None:
    page = b'{"nextCursor":null,"tools":[]}'
    assert run(read_full_list(asking(), MethodHandler(lambda _: Encoded(page)))) == FullList(
        (page,)
    )


def test_the_strictest_cache_hint_counts() -> None:
    public, private = {"ttlMs": 5, "cacheScope": "public"}, {"ttlMs": 9, "cacheScope": "private"}
    assert cache_hint([public]) == (5, "public")
    assert cache_hint([public, private]) == (5, "private")
    assert cache_hint([{}]) == (0, "private")
