"""Types of tool results; clients see their schemas."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = [
    "AppliedTemplate",
    "Arranged",
    "AssetPage",
    "AssetView",
    "Changed",
    "ChatAnswer",
    "Described",
    "DesignDetail",
    "DesignPage",
    "DesignView",
    "Exported",
    "FileView",
    "FontCatalogue",
    "Found",
    "HistoryAnswer",
    "MadeTemplate",
    "NewBox",
    "NextCall",
    "Previewed",
    "ShapePage",
    "Suggested",
    "TemplateChoice",
    "TemplatePage",
    "TemplateView",
    "VersionView",
    "WarningView",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    pass


class WarningView(_Result, kw_only=True):
    """A problem and how to fix it."""

    code: str
    message: str
    element_ids: list[str]
    fix: str = ""


class Changed(_Result, kw_only=True, omit_defaults=False):
    """The result of a change."""

    design_id: str
    version: int
    element_ids: list[str]
    warnings: list[WarningView]
    message: str
    # How many warnings were left out; describe_design returns all.
    more_warnings: int = 0
    dry_run: bool = False


class DesignView(_Result, kw_only=True):
    """A design in a list."""

    id: str
    name: str
    description: str = ""
    visibility: str
    width: int
    height: int
    version: int
    element_count: int
    created_at: str
    updated_at: str
    deleted_at: str | None = None
    uri: str


class DesignPage(_Result, kw_only=True):
    """Designs, last changed first."""

    designs: list[DesignView]
    page: int
    total: int
    has_more: bool
    # How many of this page are left out because they are too long; a smaller limit shows them.
    not_listed: int = 0


class DesignDetail(_Result, kw_only=True):
    """A design with its elements, bottom first; default values are left out."""

    design: DesignView
    background: str
    elements: list[dict[str, Any]]
    # How many elements come before the first and after the last one returned.
    offset: int = 0
    has_more: bool = False
    next_offset: int | None = None
    # {{fields}} that apply_template can fill once this is a template.
    fields: list[str]
    connectors: dict[str, dict[str, Any]] = {}


class FileView(_Result, kw_only=True):
    """A file that was created."""

    uri: str
    name: str
    mime_type: str
    size: int
    width: int | None = None
    height: int | None = None
    # The path that it was also saved to.
    saved_to: str | None = None
    design_id: str | None = None


class Exported(_Result, kw_only=True):
    """An exported file, to be read by its URI."""

    design_id: str
    version: int
    format: str
    file: FileView
    # Missing fonts, each with its replacement.
    substituted_fonts: dict[str, str] = {}
    # Characters that no font has.
    warnings: list[WarningView] = []


class Previewed(_Result, kw_only=True):
    """Describes the picture that is returned with it."""

    design_id: str
    version: int
    width: int
    height: int
    scale: float
    mime_type: str
    size: int
    # With labels: the element id of each number.
    labels: dict[str, str] = {}


class Described(_Result, kw_only=True):
    """The content of a design and its problems, or the properties of a type of element."""

    design_id: str = ""
    version: int = 0
    text: str
    findings: list[WarningView] = []
    element_count: int = 0
    more_findings: int = 0


class NewBox(_Result, kw_only=True):
    """The new position of an element."""

    element_id: str
    x: float
    y: float
    width: float
    height: float


class Arranged(Changed, kw_only=True, omit_defaults=False):
    """Elements that were moved, with their new boxes."""

    boxes: list[NewBox]
    more_boxes: int = 0


class VersionView(_Result, kw_only=True):
    """A version."""

    version: int
    at: str
    action: str
    detail: str = ""
    by: str | None = None
    label: str | None = None


class HistoryAnswer(_Result, kw_only=True, omit_defaults=False):
    """Versions, differences, or the version that undo, redo or restore created."""

    design_id: str
    version: int
    action: str
    message: str
    versions: list[VersionView] = []
    differences: list[dict[str, Any]] = []
    element_ids: list[str] = []
    warnings: list[WarningView] = []
    has_more: bool = False
    next_before: int | None = None


class TemplateView(_Result, kw_only=True):
    """A template."""

    id: str
    name: str
    description: str = ""
    category: str
    width: int
    height: int
    # Field -> example value.
    slots: dict[str, Any]
    tags: list[str] = []
    source: Literal["embedded", "own"]


class MadeTemplate(TemplateView, kw_only=True, omit_defaults=False):
    """A new template; it has its own id and is stored like a design."""

    design_id: str
    version: int
    element_ids: list[str]
    warnings: list[WarningView]


class TemplatePage(_Result, kw_only=True):
    """Templates, the caller's own first."""

    templates: list[TemplateView]
    page: int
    total: int
    has_more: bool
    categories: list[str]


class AppliedTemplate(_Result, kw_only=True, omit_defaults=False):
    """The designs and files that were created from a template."""

    template_id: str
    # Of the first design; `designs` has the others.
    design_id: str | None
    version: int | None
    element_ids: list[str]
    warnings: list[WarningView]
    designs: list[DesignView]
    files: list[FileView]
    rows: int
    # How many designs and files were left out of this result.
    not_listed: int = 0


class AssetView(_Result, kw_only=True):
    """An asset; use `uri` as the src of an image."""

    id: str
    name: str
    type: str
    mime_type: str
    size: int
    uri: str
    width: int | None = None
    height: int | None = None
    created_at: str


class AssetPage(_Result, kw_only=True):
    """Assets, newest first."""

    assets: list[AssetView]
    page: int
    total: int
    has_more: bool
    # How many of this page are left out because they are too long; a smaller limit shows them.
    not_listed: int = 0


class Found(_Result, kw_only=True):
    """Search results; each says how to place it."""

    query: str
    results: list[dict[str, Any]]
    page: int
    total: int
    has_more: bool
    source: Literal["embedded"]


class FontCatalogue(_Result, kw_only=True):
    """Available font families, and advice."""

    fonts: list[dict[str, Any]]
    total: int
    source: Literal["embedded"]
    recommendations: dict[str, Any] = {}
    pairings: list[dict[str, Any]] = []


class ShapePage(_Result, kw_only=True):
    """Shapes, as paths for an svg element."""

    shapes: list[dict[str, Any]]
    total: int
    has_more: bool
    next_offset: int | None = None
    categories: list[str]
    source: Literal["embedded"]


class TemplateChoice(_Result, kw_only=True):
    """A template that suits a task."""

    id: str
    name: str
    description: str = ""
    width: int
    height: int
    # JSON Schema of `data` in apply_template; the examples show what each slot is for.
    slots: dict[str, Any]


class NextCall(_Result, kw_only=True):
    """The call that completes the task; values in <angle brackets> are yours to fill in."""

    tool: str
    arguments: dict[str, Any]


class Suggested(_Result, kw_only=True):
    """Templates for a task, best first, and the call that fills one."""

    message: str
    templates: list[TemplateChoice]
    next: NextCall
    # What was asked for and cannot be done, and the limits of this server.
    cannot: list[str]


class ChatAnswer(_Result, kw_only=True):
    """What the caller needs to make a change: the design as text, or templates for a new one."""

    message: str
    design_id: str | None = None
    version: int | None = None
    outline: str = ""
    templates: list[TemplateChoice] = []
    next: NextCall
    cannot: list[str]
