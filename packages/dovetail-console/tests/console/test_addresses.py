from __future__ import annotations

from typing import Any

import pytest

from dovetail.spec.models import Implementation
from dovetail.transports.asgi.messages import HttpRequest
from dovetail_console.addresses import internal_url
from dovetail_console.console_site import ConsoleServer, ConsoleSite
from dovetail_console.requests import RefusedError

SERVER = ConsoleServer(name="s", info=Implementation(name="s", version="1"), path="/mcp")


def find(scope: dict[str, Any], **options: Any) -> str:
    async def never(*_: Any) -> Any:
        raise AssertionError

    request = HttpRequest(scope, {b"host": b"evil.example"}, never, never)
    return internal_url(request, ConsoleSite(servers=[SERVER], **options), SERVER)


def test_the_address_of_the_connection_counts_and_not_the_name_that_the_caller_sent() -> None:
    assert find({"server": ("127.0.0.1", 80)}) == "http://127.0.0.1:80/mcp"
    assert find({"server": ("::1", 8000), "root_path": "/a"}) == "http://[::1]:8000/a/mcp"
    assert find({"server": ("10.0.0.1", 1)}, allowed_hosts=["*"]) == "http://10.0.0.1:1/mcp"


def test_a_name_that_the_operator_lists_is_used() -> None:
    found = find({"server": ("10.0.0.1", 1), "scheme": "https"}, allowed_hosts=["evil.example"])
    assert found == "https://evil.example/mcp"


@pytest.mark.parametrize("server", [None, ("/run/shop", None)])
def test_a_unix_socket_has_no_url(server: Any) -> None:
    with pytest.raises(RefusedError, match="no address"):
        find({"server": server})
