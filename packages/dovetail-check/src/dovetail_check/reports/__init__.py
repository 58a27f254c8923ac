"""Report formats: each module here has a `render` function from a Report to text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import TypeAlias

from dovetail.errors import UsageError
from dovetail_check.report import FailOn, Report

__all__ = ["FORMATS", "format_for", "render"]

Render: TypeAlias = Callable[[Report, FailOn], str]

# Format -> module.
FORMATS = {
    "text": "text",
    "json": "json_form",
    "md": "markdown",
    "html": "html_page",
    "sarif": "sarif",
    "junit": "junit",
    "github": "annotations",
}

# File extension -> format.
_EXTENSIONS = {
    ".txt": "text",
    ".json": "json",
    ".md": "md",
    ".html": "html",
    ".htm": "html",
    ".sarif": "sarif",
    ".sarif.json": "sarif",
    ".xml": "junit",
}


def format_for(name: str) -> str:
    """Return the format for a file name; raises UsageError."""
    suffixes = PurePath(name.lower()).suffixes
    for extension in ("".join(suffixes[-2:]), "".join(suffixes[-1:])):
        if extension in _EXTENSIONS:
            return _EXTENSIONS[extension]
    known = ", ".join(_EXTENSIONS)
    raise UsageError(
        f"-o {name}: unknown file extension; use one of {known}, or pass --format before it"
    )


def render(report: Report, format: str, fail_on: FailOn = "must") -> str:
    """Render a report; `fail_on` selects the failures in formats that have them."""
    module = import_module(f"dovetail_check.reports.{FORMATS[format]}")
    write: Render = module.render
    return write(report, fail_on)
