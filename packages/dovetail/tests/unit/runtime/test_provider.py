"""What a server offers to the servers that it is mounted in."""

from __future__ import annotations

import pytest

from dovetail import Server
from dovetail.errors import DuplicateError


def make_server() -> Server:
    server = Server("shop")
    server.tools.add(lambda: "x", name="add", task="optional", resumable=True)
    server.prompts.add(lambda: "x", name="greet")
    server.resources.add("notes://today", lambda: "x", name="today")

    @server.resource("notes://{id}/text")
    def text(id: str) -> str:
        return id

    return server


def test_names_are_those_of_the_registries_and_of_mounts() -> None:
    outer = Server("outer")
    outer.mount(make_server(), "shop")
    provider = outer.provider
    assert provider.names("tool") == ["shop_add"]
    assert provider.names("resource template") == ["notes://shop/{id}/text"]
    assert provider.serves("resource", "notes://shop/7/text")
    assert provider.serves("prompt", "shop_greet")
    assert not provider.serves_itself("prompt", "shop_greet")
    assert not provider.serves("tool", "add")
    assert provider.has_fixed_names
    assert provider.is_resumable("shop_add")
    assert not provider.is_resumable("shop_other")


def test_new_names_are_checked_until_the_check_is_removed() -> None:
    server = make_server()

    def refuse(kind: str, name: str) -> None:
        raise DuplicateError(f"{kind} {name}")

    remove = server.provider.check_names(refuse)
    with pytest.raises(DuplicateError, match="tool later"):
        server.tools.add(lambda: "x", name="later")
    remove()
    server.tools.add(lambda: "x", name="later")
    assert server.provider.names("tool") == ["add", "later"]
