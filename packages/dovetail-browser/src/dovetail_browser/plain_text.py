"""HTML as plain text: the words in their order, lists and tables still to be told as such."""

from __future__ import annotations

from dovetail_browser.html_events import read_events
from dovetail_browser.notation import Notation
from dovetail_browser.reading_form import render

__all__ = ["to_text"]


def to_text(source: str, base_url: str, main_only: bool = False) -> str:
    """Plain text of HTML, from `read_source` or as served."""
    return render(read_events(source, base_url, main_only), Notation())
