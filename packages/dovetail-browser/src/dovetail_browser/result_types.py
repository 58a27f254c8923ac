"""Types of tool results, from which the output schemas are generated."""

from __future__ import annotations

import msgspec

__all__ = [
    "Acted",
    "ClickedPage",
    "ClosedTabs",
    "DialogPolicy",
    "DialogView",
    "ElementView",
    "FetchedPage",
    "FieldOutcome",
    "FormFilled",
    "LogEntry",
    "PageLogged",
    "PageRead",
    "ScriptRun",
    "SnapshotTaken",
    "TabList",
    "TabView",
    "TypedPage",
    "Waited",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    pass


class DialogView(_Result, kw_only=True):
    """A dialog that the page opened, and how it was answered."""

    kind: str
    message: str
    answer: str


class ElementView(_Result, kw_only=True):
    """Role and name of an element."""

    role: str
    name: str


class _Answer(_Result, kw_only=True):
    # Suggested next calls.
    next_steps: list[str]
    # Pass it as `session` with the next call.
    session: str | None = None


class _OfTab(_Answer, kw_only=True):
    tab_id: str
    current_url: str
    title: str | None = None
    # Dialogs since the last result.
    dialogs: list[DialogView] | None = None
    # Tabs that the page opened since the last result.
    opened_tabs: list[str] | None = None
    # Files downloaded to the operator's folder since the last result.
    downloads: list[str] | None = None


class _WithPage(_OfTab, kw_only=True):
    # The text of the page: `html` for format html, `content` for the others.
    html: str | None = None
    content: str | None = None
    format: str | None = None
    truncated: bool = False
    offset: int | None = None
    next_offset: int | None = None
    total_chars: int | None = None
    # What was omitted and how to get it.
    note: str | None = None
    # Which members come from the page.
    untrusted: str | None = None
    saved_to: str | None = None


class FetchedPage(_WithPage, kw_only=True):
    """A page that was fetched."""

    # The requested URL, if it differs from currentUrl.
    url: str | None = None
    status: int | None = None
    login_required: bool = False


class PageRead(_WithPage, kw_only=True):
    """The current page of a tab."""


class ClickedPage(_WithPage, kw_only=True):
    """The result of a click."""

    message: str
    clicked: ElementView
    navigated: bool


class TypedPage(_WithPage, kw_only=True):
    """The result of typing."""

    message: str
    typed_into: ElementView
    navigated: bool


class SnapshotTaken(_WithPage, kw_only=True):
    """An accessibility tree."""

    lines: int
    refs: int
    interactive: int
    matches: int | None = None
    added: int | None = None
    removed: int | None = None


class ClosedTabs(_Answer, kw_only=True):
    """The closed tabs."""

    message: str
    closed: list[str]
    hostname: str | None = None


class FieldOutcome(_Result, kw_only=True):
    """The result for one field."""

    field: str
    # "filled" or "failed".
    outcome: str
    element: ElementView | None = None
    reason: str | None = None


class FormFilled(_WithPage, kw_only=True):
    """The result of filling in a form."""

    filled: int
    failed: int
    submitted: bool
    fields: list[FieldOutcome]
    navigated: bool = False


class Acted(_WithPage, kw_only=True):
    """The result of an action."""

    action: str
    message: str
    navigated: bool
    target: ElementView | None = None


class Waited(_OfTab, kw_only=True):
    """Whether the condition was met."""

    met: bool
    waited_for: str
    took_ms: int


class TabView(_Result, kw_only=True):
    """A tab."""

    id: str
    url: str
    title: str
    hostname: str
    is_current: bool = False


class TabList(_Answer, kw_only=True):
    """The open tabs."""

    tabs: list[TabView]


class LogEntry(_Result, kw_only=True):
    """An entry of a log."""

    id: int
    # Console: the level; network: the method.
    kind: str
    text: str
    status: int | None = None
    # URL, with the line number for scripts.
    source: str | None = None
    resource_type: str | None = None
    milliseconds: int | None = None
    size: int | None = None


class PageLogged(_OfTab, kw_only=True):
    """Log entries of a page, newest last."""

    entries: list[LogEntry]
    # Number of matching entries.
    total: int
    left_out: int = 0
    # Response body, if one entry was requested.
    body: str | None = None
    truncated: bool = False
    untrusted: str | None = None


class DialogPolicy(_OfTab, kw_only=True):
    """The reply to the next dialog, and recent dialogs."""

    next_dialog: str
    recent: list[DialogView]


class ScriptRun(_WithPage, kw_only=True):
    """The return value of a script, as JSON in `content`."""

    kind: str
    took_ms: int
