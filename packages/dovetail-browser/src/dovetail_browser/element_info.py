"""What an element is, asked of the page: role, name, a selector, whether it can be used."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from dovetail_browser.results import ElementView

__all__ = ["DESCRIBE", "LIST_INTERACTIVE", "ElementFacts"]

_SOURCE = files("dovetail_browser").joinpath("element_facts.js").read_text("utf-8")
# Functions for evaluate: of one element, and of all that can be used.
DESCRIBE = f"(element) => {{ {_SOURCE}; return describe(element); }}"
LIST_INTERACTIVE = f"() => {{ {_SOURCE}; return listInteractive(300); }}"

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ElementFacts:
    """What a page says of one of its elements; all of it is the page's word."""

    tag: str
    kind: str
    role: str
    name: str
    selector: str
    is_disabled: bool
    is_visible: bool
    is_interactive: bool
    is_editable: bool

    @classmethod
    def read(cls, said: Any) -> ElementFacts:
        """From the JSON that the page's side made."""
        return cls(
            str(said["tag"]),
            str(said["kind"]),
            str(said["role"])[:40],
            str(said["name"])[:_LONGEST_NAME],
            str(said["selector"])[:200],
            bool(said["disabled"]),
            bool(said["visible"]),
            bool(said["interactive"]),
            bool(said["editable"]),
        )

    @property
    def view(self) -> ElementView:
        """As answers show it."""
        return ElementView(role=self.role, name=self.name)

    def describe(self) -> str:
        """For a sentence."""
        state = " (disabled)" if self.is_disabled else "" if self.is_visible else " (not visible)"
        return f"{self.role} {self.name!r}{state}"
