"""What the tools answer, as types; their schemas are what clients are told."""

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
    "Generated",
    "HistoryAnswer",
    "MadeTemplate",
    "NewBox",
    "Previewed",
    "ShapePage",
    "TemplatePage",
    "TemplateView",
    "VersionView",
    "WarningView",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    pass


class WarningView(_Result, kw_only=True):
    """Something that looks wrong, and what would mend it."""

    code: str
    message: str
    element_ids: list[str]
    fix: str = ""


class Changed(_Result, kw_only=True, omit_defaults=False):
    """A change that was made."""

    design_id: str
    version: int
    element_ids: list[str]
    warnings: list[WarningView]
    message: str
    # Warnings that did not fit; describe_design has them all.
    more_warnings: int = 0
    dry_run: bool = False


class DesignView(_Result, kw_only=True):
    """A design as lists show it."""

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
    """Designs, the last changed first."""

    designs: list[DesignView]
    page: int
    total: int
    has_more: bool


class DesignDetail(_Result, kw_only=True):
    """A design with its elements, bottom first; what is as by default is left out."""

    design: DesignView
    background: str
    elements: list[dict[str, Any]]
    # Elements before the first and after the last one shown.
    offset: int = 0
    has_more: bool = False
    next_offset: int | None = None
    # {{fields}} that apply_template can fill once this is a template.
    fields: list[str]
    connectors: dict[str, dict[str, Any]] = {}


class FileView(_Result, kw_only=True):
    """A file that was made."""

    uri: str
    name: str
    mime_type: str
    size: int
    width: int | None = None
    height: int | None = None
    # Where it was saved as well.
    saved_to: str | None = None
    design_id: str | None = None


class Exported(_Result, kw_only=True):
    """An export: a file to read by its URI."""

    design_id: str
    version: int
    format: str
    file: FileView
    # Fonts that were not there, each with what was used instead.
    substituted_fonts: dict[str, str] = {}


class Previewed(_Result, kw_only=True):
    """What the picture beside it shows."""

    design_id: str
    version: int
    width: int
    height: int
    scale: float
    mime_type: str
    size: int
    # With labels: which number stands on which element.
    labels: dict[str, str] = {}


class Described(_Result, kw_only=True):
    """What is on a design and what looks wrong."""

    design_id: str
    version: int
    text: str
    findings: list[WarningView]
    element_count: int
    more_findings: int = 0


class NewBox(_Result, kw_only=True):
    """Where an element is now."""

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
    """Versions, differences, or the version that an undo, redo or restore has made."""

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
    # Field -> an example of what goes into it.
    slots: dict[str, Any]
    tags: list[str] = []
    source: Literal["embedded", "own"]


class MadeTemplate(TemplateView, kw_only=True, omit_defaults=False):
    """A template that was made: a design of its own kind, with the same id."""

    design_id: str
    version: int
    element_ids: list[str]
    warnings: list[WarningView]


class TemplatePage(_Result, kw_only=True):
    """Templates, one's own first."""

    templates: list[TemplateView]
    page: int
    total: int
    has_more: bool
    categories: list[str]


class AppliedTemplate(_Result, kw_only=True, omit_defaults=False):
    """What a template was made into."""

    template_id: str
    # Of the first design; the others are in `designs`.
    design_id: str | None
    version: int | None
    element_ids: list[str]
    warnings: list[WarningView]
    designs: list[DesignView]
    files: list[FileView]
    rows: int
    # Designs and files that did not fit into this answer.
    not_listed: int = 0


class AssetView(_Result, kw_only=True):
    """An asset; `uri` is what the src of an image takes."""

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
    """Assets, the newest first."""

    assets: list[AssetView]
    page: int
    total: int
    has_more: bool


class Found(_Result, kw_only=True):
    """What the library has; each result says how to place it."""

    query: str
    results: list[dict[str, Any]]
    page: int
    total: int
    has_more: bool
    source: Literal["embedded"]


class FontCatalogue(_Result, kw_only=True):
    """Families that are there, and advice."""

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


class Generated(Changed, kw_only=True, omit_defaults=False):
    """A design that was made from a prompt."""

    # rules: our own. sampling: the client's model.
    method: Literal["rules", "sampling"]
    design: DesignView
    template: str | None = None


class ChatAnswer(_Result, kw_only=True, omit_defaults=False):
    """What was understood and done."""

    reply: str
    method: Literal["rules", "sampling"]
    design_id: str | None
    version: int | None
    element_ids: list[str]
    warnings: list[WarningView]
    # What was done, or would be; edit_design takes the same.
    operations: list[dict[str, Any]]
    # A new background, which is no operation; update_design takes it.
    background: str | None
    applied: bool
