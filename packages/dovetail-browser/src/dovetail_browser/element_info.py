"""Information about an element, read from the page: role, name, selector, state."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from dovetail_browser.result_types import ElementView

__all__ = ["DESCRIBE", "LIST_INTERACTIVE", "ElementInfo"]

_SOURCE = files("dovetail_browser").joinpath("element_info.js").read_text("utf-8")
# JavaScript functions for `evaluate`: for one element, and for all interactive elements.
DESCRIBE = f"(element) => {{ {_SOURCE}; return describe(element); }}"
LIST_INTERACTIVE = f"() => {{ {_SOURCE}; return listInteractive(300); }}"

_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class ElementInfo:
    """Information about an element. All of it comes from the page and is untrusted."""

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
    def read(cls, said: Any) -> ElementInfo:
        """Create it from the script's JSON."""
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
        """Its form in results."""
        return ElementView(role=self.role, name=self.name)

    def describe(self) -> str:
        """Describe the element for a message."""
        state = " (disabled)" if self.is_disabled else "" if self.is_visible else " (not visible)"
        return f"{self.role} {self.name!r}{state}"
