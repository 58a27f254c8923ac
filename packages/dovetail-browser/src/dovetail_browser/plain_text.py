"""Renders HTML as plain text, with lists and tables."""

from __future__ import annotations

from dovetail_browser.formatter import Formatter
from dovetail_browser.html_events import read_events
from dovetail_browser.text_renderer import render

__all__ = ["to_text"]


def to_text(source: str, base_url: str, main_only: bool = False) -> str:
    """Render HTML, from `read_source` or as served, as plain text."""
    return render(read_events(source, base_url, main_only), Formatter())
