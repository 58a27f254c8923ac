"""Answers the dialogs of a page at once, so that no call waits for them, and reports them.

Dialogs are dismissed unless a call has set a reply for the next one. `beforeunload` dialogs are
always accepted. A page that opens one dialog after another is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dovetail_browser.page_errors import driver_errors

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Page

__all__ = ["AnsweredDialog", "DialogReply", "Dialogs"]

_MOST_KEPT = 20
_LONGEST = 500
# A page with this many dialogs in this many seconds is closed.
_FLOOD, _FLOOD_SECONDS = 30, 10.0


@dataclass(frozen=True, slots=True)
class DialogReply:
    """The reply to the next dialog."""

    accept: bool
    text: str | None = None


@dataclass(frozen=True, slots=True)
class AnsweredDialog:
    """A dialog, and how it was answered."""

    kind: str
    message: str
    answer: str


class Dialogs:
    """The dialogs of one page."""

    def __init__(self, page: Page, on_flood: Callable[[], None]) -> None:
        self.plan: DialogReply | None = None
        self.recent: deque[AnsweredDialog] = deque(maxlen=_MOST_KEPT)
        self._unreported: deque[AnsweredDialog] = deque(maxlen=_MOST_KEPT)
        self._times: deque[float] = deque(maxlen=_FLOOD)
        self._on_flood = on_flood
        self._at_work: set[asyncio.Task[None]] = set()
        page.on("dialog", self._opened)

    @contextlib.contextmanager
    def answering(self, answer: str | None, text: str | None) -> Iterator[None]:
        """Answer a dialog that the block opens; without an answer nothing changes."""
        if answer is None:
            yield
            return
        self.plan = DialogReply(answer == "accept", text)
        try:
            yield
        finally:
            self.plan = None

    def take_new(self) -> list[AnsweredDialog]:
        """Return the dialogs that no result has reported yet."""
        new = list(self._unreported)
        self._unreported.clear()
        return new

    def _opened(self, dialog: Dialog) -> None:
        task = asyncio.ensure_future(self._answer(dialog))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    async def _answer(self, dialog: Dialog) -> None:
        plan, self.plan = self.plan, None
        if dialog.type == "beforeunload":
            # Keep the reply for the next real dialog.
            self.plan, plan = plan, DialogReply(accept=True)
        accept = plan is not None and plan.accept
        said = AnsweredDialog(
            dialog.type, dialog.message[:_LONGEST], "accepted" if accept else "dismissed"
        )
        self.recent.append(said)
        self._unreported.append(said)
        self._times.append(time.monotonic())
        if len(self._times) == _FLOOD and self._times[-1] - self._times[0] < _FLOOD_SECONDS:
            self._times.clear()
            self._on_flood()
        with contextlib.suppress(*driver_errors()):
            if plan is not None and accept:
                await (dialog.accept() if plan.text is None else dialog.accept(plan.text))
            else:
                await dialog.dismiss()
