"""Which tools and parameters the list shows; all others stay callable.

A model pays for the list in every conversation. Both sets are decided when the server starts, so
the list never changes. Error messages and next steps name only tools that both sets list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail_browser.html_vocabulary import words
from dovetail_serverkit.tool_sets import ToolSet

__all__ = ["TOOL_SETS", "ToolListing"]

_LOG = words("kind level filter id limit maxChars tab session")
_WAIT = words("text textGone selector pageUrl networkIdle ms timeout tab session")
_TABS = words("action tab url session")

_DEFAULT: dict[str, frozenset[str]] = {
    "fetch_webpage": words(
        "url removeUnnecessaryHTML postLoadWait format selector mainContentOnly maxChars offset "
        "newTab waitFor timeout tab session"
    ),
    "get_current_html": words(
        "url removeUnnecessaryHTML format selector mainContentOnly find interactiveOnly diff "
        "maxChars offset saveTo tab session"
    ),
    "click_element": words(
        "url selector text ref role name button double modifiers dialog promptText format "
        "postClickWait waitForElementTimeout maxChars tab session"
    ),
    "type_text": words(
        "url selector text secret ref role name label clear typeDelay submit format postTypeWait "
        "waitForElementTimeout maxChars tab session"
    ),
    "close_tab": words("url tab all session"),
    "fill_form": words("fields submit format maxChars tab session"),
    "interact": words(
        "action ref selector text role name label keys option toRef toSelector deltaX deltaY "
        "dialog promptText format maxChars tab session"
    ),
    "wait_for": _WAIT,
    "take_screenshot": words("ref selector fullPage maxWidth format quality saveTo tab session"),
    "get_page_log": _LOG,
    "manage_tabs": _TABS,
    "evaluate_script": words("expression ref selector maxChars offset tab session"),
}
# One tool to load, one to read, one to fill in, and one for all other actions.
_COMPACT: dict[str, frozenset[str]] = {
    "fetch_webpage": words(
        "url format selector mainContentOnly maxChars newTab waitFor timeout tab session"
    ),
    "get_current_html": words(
        "format selector mainContentOnly find interactiveOnly diff maxChars offset saveTo tab "
        "session"
    ),
    "fill_form": words("fields submit format maxChars tab session"),
    "interact": words(
        "action ref selector text label keys option toSelector deltaY dialog promptText format "
        "maxChars tab session"
    ),
    "wait_for": words("text textGone selector pageUrl networkIdle timeout tab session"),
    "take_screenshot": words("ref selector fullPage maxWidth format saveTo tab session"),
    "get_page_log": words("kind filter id limit maxChars tab session"),
    "manage_tabs": _TABS,
    "evaluate_script": words("expression maxChars tab session"),
}
TOOL_SETS: Mapping[ToolSet, Mapping[str, frozenset[str]]] = {
    "default": _DEFAULT,
    "compact": _COMPACT,
}


@dataclass(frozen=True, slots=True)
class ToolListing:
    """The set that a server lists, without what its options make useless."""

    name: ToolSet = "default"
    # Parameters that cannot matter with the options of this server.
    useless: frozenset[str] = field(default_factory=frozenset)

    def shows(self, tool: str) -> bool:
        """Whether the list shows a tool."""
        return tool in TOOL_SETS[self.name]

    def shows_parameter(self, tool: str, parameter: str) -> bool:
        """Whether the list shows a parameter of a tool; of an unlisted tool it is not asked."""
        shown = TOOL_SETS[self.name].get(tool)
        return shown is None or (parameter in shown and parameter not in self.useless)
