"""The same task in the words of each server: open the shop, choose a product, order, read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from dovetail_browser.chromium_path import find_chromium
from qa.bench.npm_packages import NpmHome
from qa.bench.piped_server import PipedServer

__all__ = [
    "CONTESTANTS",
    "OURS",
    "OURS_SPARING",
    "PEER",
    "PEER_HOME",
    "PEER_SPARING",
    "Contestant",
]

OURS, PEER = "dovetail", "@playwright/mcp"
OURS_SPARING, PEER_SPARING = f"{OURS}, sparing", f"{PEER}, sparing"
PEER_HOME = NpmHome("browser", Path(__file__).with_name("package.json"))
# Some characters that show where one is; whoever wants to read on asks for more.
_SPARING = 2_000

Step = Callable[[PipedServer, str], None]


class Contestant(NamedTuple):
    """A way to do the task."""

    manner: str
    command: Callable[[str], list[str]]
    # Each takes the server and the address of the site.
    steps: dict[str, Step]


def _our_command(site: str) -> list[str]:
    host = site.removeprefix("http://").rstrip("/")
    return [sys.executable, "-m", "dovetail", "serve", "browser", "--allow", host]


def _peer_command(_site: str) -> list[str]:
    words = [PEER_HOME.node, PEER_HOME.file(PEER, "cli.js"), "--headless", "--isolated"]
    return [*words, "--no-sandbox", "--executable-path", find_chromium()]


def _our_steps(**fetching: object) -> dict[str, Step]:
    def read(server: PipedServer, site: str) -> None:
        arguments = {"url": site, "selector": "#total", "format": "text"}
        answer = server.call("get_current_html", arguments)
        assert "Total: 156" in str(answer), answer

    return {
        "fetch": lambda server, site: _ignore(
            server.call("fetch_webpage", {"url": site, **fetching})
        ),
        "click": lambda server, site: _ignore(
            server.call("click_element", {"url": site, "text": "Product 042", "returnHtml": False})
        ),
        "type": lambda server, site: _ignore(
            server.call(
                "type_text",
                {"url": site, "selector": "#quantity", "text": "3", "returnHtml": False},
            )
        ),
        "read": read,
    }


class _Peer:
    """What the peer showed last, in which its refs are found."""

    def __init__(self, look: Callable[[PipedServer, str], dict[str, Any]], is_read: bool) -> None:
        # Takes a text that must be in what is shown.
        self._look = look
        self._is_read = is_read
        self._shown = ""

    def fetch(self, server: PipedServer, site: str) -> None:
        """Go there, and look if the page is to be read: the answer only names a file with it."""
        server.call("browser_navigate", {"url": site})
        self._shown = ""
        if self._is_read:
            self._show(server, "Product 042")

    def click(self, server: PipedServer, _site: str) -> None:
        """By the ref of the product."""
        target = self._find(server, "Product 042", "link")
        server.call("browser_click", {"element": "the product", "target": target})
        self._shown = ""

    def type(self, server: PipedServer, _site: str) -> None:
        """By the ref of the field."""
        target = self._find(server, "Quantity", "textbox")
        server.call("browser_type", {"element": "quantity", "target": target, "text": "3"})

    def read(self, server: PipedServer, _site: str) -> None:
        """The total, as it is now."""
        self._show(server, "Total")
        assert "Total: 156" in self._shown, self._shown

    def _find(self, server: PipedServer, name: str, role: str) -> str:
        if not self._shown:
            self._show(server, name)
        found = re.search(rf'{role} "{name}"[^\n]*?\[ref=(\w+)\]', self._shown)
        assert found is not None, f"{role} {name} is not in what it showed"
        return found[1]

    def _show(self, server: PipedServer, name: str) -> None:
        self._shown = "\n".join(part["text"] for part in self._look(server, name)["content"])


def _peer_steps(
    look: Callable[[PipedServer, str], dict[str, Any]], *, is_read: bool
) -> dict[str, Step]:
    peer = _Peer(look, is_read)
    return {"fetch": peer.fetch, "click": peer.click, "type": peer.type, "read": peer.read}


def _ignore(_result: object) -> None:
    """The answer has been counted."""


def _snapshot(server: PipedServer, _text: str) -> dict[str, Any]:
    """The whole page: its answers only name a file that has it."""
    shown: dict[str, Any] = server.call("browser_snapshot", {})
    return shown


def _search(server: PipedServer, text: str) -> dict[str, Any]:
    """The lines around a text that somebody knows is there."""
    shown: dict[str, Any] = server.call("browser_find", {"text": text})
    return shown


CONTESTANTS = {
    OURS: Contestant("the page is read", _our_command, _our_steps()),
    PEER: Contestant("the page is read", _peer_command, _peer_steps(_snapshot, is_read=True)),
    OURS_SPARING: Contestant(
        "only what is needed", _our_command, _our_steps(format="markdown", maxChars=_SPARING)
    ),
    PEER_SPARING: Contestant(
        "only what is needed", _peer_command, _peer_steps(_search, is_read=False)
    ),
}
