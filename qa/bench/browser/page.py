"""The part of the page about the browser server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qa.bench.browser.contestants import CONTESTANTS, PEER, PEER_HOME
from qa.bench.browser.measure import BrowserFigures
from qa.bench.browser.site import PRODUCTS
from qa.bench.page import circumstances, render_targets, table
from qa.bench.targets import Target

__all__ = ["render_browser"]

_STEPS = ("fetch", "click", "type", "read")


def render_browser(
    figures: Mapping[str, BrowserFigures], effort: str, targets: Sequence[Target]
) -> str:
    """Everything that was measured."""
    parts = [
        f"{circumstances(effort)} A shop of {PRODUCTS} products on this machine: open it, click a "
        "product, type a quantity, read the total. Same Chromium, headless, both over stdio, one "
        f"after the other; the peer is {PEER_HOME.version(PEER)}. Its results name a file with the "
        "page. To see the page, a client asks for a snapshot, which is counted with the step that "
        "needs it, the first one with the fetch. The sparing rows are for a client that knows what "
        "to look for: our `maxChars`, its `browser_find`. Ours cuts a long page at `maxChars` and "
        "says how to continue; its snapshot is complete.",
        "### Targets of the browser server\n\n" + render_targets(targets),
        "### Time\n\n" + _times(figures),
        "### Characters of one round\n\n" + _characters(figures),
    ]
    return "\n\n".join(parts)


def _times(figures: Mapping[str, BrowserFigures]) -> str:
    rows = [
        [
            name,
            CONTESTANTS[name].manner,
            f"{one.tools:.0f}",
            f"{one.cold_fetch:.0f}",
            *(f"{one.warm[step]:.0f}" for step in _STEPS),
        ]
        for name, one in figures.items()
    ]
    head = ["ms", "", "start to tools/list", "first fetch", *(f"warm {step}" for step in _STEPS)]
    return table(head, rows)


def _characters(figures: Mapping[str, BrowserFigures]) -> str:
    rows = [
        [name, *(f"{one.characters[step]:,}" for step in _STEPS), f"{one.all_characters:,}"]
        for name, one in figures.items()
    ]
    return table(["", *_STEPS, "all"], rows)
