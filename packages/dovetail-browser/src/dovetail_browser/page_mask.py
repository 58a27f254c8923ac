"""Hides invisible text from Playwright's accessibility snapshot.

Playwright creates the snapshot with a script in its own isolated world of each document. The mask
runs the script of `page_source.py`, which decides what is visible, in the same world. There it
replaces the functions that return text and attributes, for example `Node.nodeValue`, so that those
of hidden nodes are empty. The page's own world and its document are not changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from dovetail_browser.isolated_world import Documents
from dovetail_browser.page_errors import driver_errors, tool_error
from dovetail_browser.page_source import DEFAULT_LIMITS, run_script

__all__ = ["Mask", "masked"]

_WORLD = "__playwright_utility_world"
_UNMASK = """() => {
  const mask = window[Symbol.for("dovetail.mask")];
  if (mask) mask.texts = null;
}"""


class Mask:
    """The masked worlds of a page."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._masked: set[str] = set()
        # What the limits left out; empty if nothing.
        self.note = ""

    async def put_on(self) -> None:
        """Mask all documents."""
        worlds = await self._documents.find_worlds(_WORLD)
        if self._documents.main not in {world.frame for world in worlds.values()}:
            raise tool_error(
                "The page cannot be checked for hidden text.",
                "get_current_html with `format=markdown` reads the page",
            )
        for id, world in worlds.items():
            try:
                note = await run_script(self._documents, world, DEFAULT_LIMITS)
            except driver_errors() as error:
                if world.frame == self._documents.main or "destroyed" not in str(error):
                    raise
                continue  # The frame was removed.
            self.note = self.note or note
            self._masked.add(id)

    async def is_complete(self) -> bool:
        """Whether no document was added or replaced since."""
        return set(await self._documents.find_worlds(_WORLD)) <= self._masked

    async def take_off(self) -> None:
        """Remove the mask: other functions of Playwright use these worlds, too."""
        for world in (await self._documents.find_worlds(_WORLD)).values():
            with contextlib.suppress(*driver_errors()):
                await self._documents.run_in(world, _UNMASK, {})


@contextlib.asynccontextmanager
async def masked(documents: Documents) -> AsyncIterator[Mask]:
    """Mask the documents of a page while the block runs."""
    mask = Mask(documents)
    try:
        await mask.put_on()
        yield mask
    finally:
        await mask.take_off()
