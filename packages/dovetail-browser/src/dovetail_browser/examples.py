"""An example call for every tool: part of its description, and run in this order by a test."""

from __future__ import annotations

from typing import Any

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, dict[str, Any]] = {
    "fetch_webpage": {"url": "https://example.org/news", "format": "markdown", "maxChars": 8000},
    "page_snapshot": {"interactiveOnly": True},
    "get_current_html": {"format": "markdown", "selector": "main"},
    "click_element": {"text": "Sign up", "returnHtml": False},
    "type_text": {"selector": "#email", "text": "ada@example.org", "returnHtml": False},
    "fill_form": {
        "fields": [
            {"label": "Name", "value": "Ada"},
            {"label": "Country", "option": "Austria"},
            {"label": "I agree", "checked": True},
        ]
    },
    "wait_for": {"text": "Sign up"},
    "interact": {"action": "scroll", "deltaY": 600},
    "take_screenshot": {"maxWidth": 800},
    "get_page_log": {"kind": "network", "limit": 20},
    "handle_dialog": {"accept": True, "promptText": "blue"},
    "evaluate_script": {"expression": "document.links.length"},
    "manage_tabs": {"action": "list"},
    "close_tab": {"url": "https://example.org/news"},
}
