from __future__ import annotations

from dovetail.spec.models import Implementation
from dovetail_console.console_site import ConsoleServer, ConsoleSite


def test_a_server_is_found_by_its_name() -> None:
    info = Implementation(name="shop", version="1")
    server = ConsoleServer(name="shop", info=info, path="/mcp")
    site = ConsoleSite(servers=[server])
    assert site.find("shop") is server
    assert site.find("other") is None
    assert site.find(None) is None


def test_every_console_has_its_own_token_which_no_log_shows() -> None:
    one, other = ConsoleSite(servers=[]), ConsoleSite(servers=[])
    assert one.token != other.token
    assert one.token not in repr(one)
