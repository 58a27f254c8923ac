"""What we promised ourselves of the browser server."""

from __future__ import annotations

from collections.abc import Mapping

from qa.bench.browser.contestants import OURS, OURS_SPARING, PEER, PEER_SPARING
from qa.bench.browser.measure import BrowserFigures
from qa.bench.targets import Target

__all__ = ["judge_browser"]

_TOOLS_MS = 300.0


def judge_browser(figures: Mapping[str, BrowserFigures]) -> list[Target]:
    """Quick to start, no slower, and a tenth of the characters."""
    ours, peer = figures[OURS], figures[PEER]
    sparing, peer_sparing = figures[OURS_SPARING], figures[PEER_SPARING]
    characters = "characters for the whole task"
    return [
        Target(
            "milliseconds to tools/list, no browser", ours.tools, _TOOLS_MS, 1.0, is_ceiling=True
        ),
        Target(
            f"warm fetch that gives the page: {PEER}", ours.warm["fetch"], peer.warm["fetch"], 1.0
        ),
        Target(f"{characters}: {PEER}", ours.all_characters, peer.all_characters, 10.0),
        # Of its fetch nothing comes back but the name of a file; of ours the beginning of the page.
        Target(
            f"warm fetch, both sparing: {PEER}",
            sparing.warm["fetch"],
            peer_sparing.warm["fetch"],
            1.0,
            is_promise=False,
        ),
        Target(
            f"{characters}, both sparing: {PEER}",
            sparing.all_characters,
            peer_sparing.all_characters,
            1.0,
            is_promise=False,
        ),
    ]
