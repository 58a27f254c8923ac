"""What the tools answer, as types; their schemas are what clients are told."""

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
    """An element as a reader would name it."""

    role: str
    name: str


class _Answer(_Result, kw_only=True):
    # What could be called next.
    next_steps: list[str]
    # Give it back as `session` where it is there.
    session: str | None = None


class _OfTab(_Answer, kw_only=True):
    tab_id: str
    current_url: str
    title: str | None = None
    # Dialogs since the last answer.
    dialogs: list[DialogView] | None = None
    # Tabs that the page opened since the last answer.
    opened_tabs: list[str] | None = None
    # Files that were downloaded since the last answer, in the operator's folder.
    downloads: list[str] | None = None


class _WithPage(_OfTab, kw_only=True):
    # The text of the page: html for that format, content for the others.
    html: str | None = None
    content: str | None = None
    format: str | None = None
    truncated: bool = False
    offset: int | None = None
    next_offset: int | None = None
    total_chars: int | None = None
    # What was left out and how to get it.
    note: str | None = None
    # What in this answer was written by the page.
    untrusted: str | None = None
    saved_to: str | None = None


class FetchedPage(_WithPage, kw_only=True):
    """A page that was fetched."""

    # The URL that was asked for, where currentUrl is another.
    url: str | None = None
    status: int | None = None
    login_required: bool = False


class PageRead(_WithPage, kw_only=True):
    """A page as it is now."""


class ClickedPage(_WithPage, kw_only=True):
    """What a click did."""

    message: str
    clicked: ElementView
    navigated: bool


class TypedPage(_WithPage, kw_only=True):
    """What typing did."""

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
    """What was closed."""

    message: str
    closed: list[str]
    hostname: str | None = None


class FieldOutcome(_Result, kw_only=True):
    """What became of one field."""

    field: str
    # filled, or failed.
    outcome: str
    element: ElementView | None = None
    reason: str | None = None


class FormFilled(_WithPage, kw_only=True):
    """What became of a form."""

    filled: int
    failed: int
    submitted: bool
    fields: list[FieldOutcome]
    navigated: bool = False


class Acted(_WithPage, kw_only=True):
    """What an action did."""

    action: str
    message: str
    navigated: bool
    target: ElementView | None = None


class Waited(_OfTab, kw_only=True):
    """Whether what was waited for came."""

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
    """A line of a log."""

    id: int
    # console: its level; network: the method.
    kind: str
    text: str
    status: int | None = None
    # Where it comes from: a URL, with the line for scripts.
    source: str | None = None
    resource_type: str | None = None
    milliseconds: int | None = None
    size: int | None = None


class PageLogged(_OfTab, kw_only=True):
    """What the page has logged, the newest last."""

    entries: list[LogEntry]
    # Entries that match.
    total: int
    left_out: int = 0
    # The body of the one entry that was asked for.
    body: str | None = None
    truncated: bool = False
    untrusted: str | None = None


class DialogPolicy(_OfTab, kw_only=True):
    """How the next dialog will be answered, and those that were."""

    next_dialog: str
    recent: list[DialogView]


class ScriptRun(_WithPage, kw_only=True):
    """What a script returned; the value is in content, as JSON."""

    kind: str
    took_ms: int
