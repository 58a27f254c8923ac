"""The formats of a report: each is a function from a Report to text, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath
from typing import TypeAlias

from dovetail.errors import UsageError
from dovetail_check.report import FailOn, Report

__all__ = ["FORMATS", "format_for", "render"]

Render: TypeAlias = Callable[[Report, FailOn], str]

# Format -> the module here that has its `render`.
FORMATS = {
    "text": "text",
    "json": "json_form",
    "md": "markdown",
    "html": "html_page",
    "sarif": "sarif",
    "junit": "junit",
    "github": "annotations",
}

# The end of a file's name -> its format.
_ENDINGS = {
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
    """The format that the name of a file asks for; raises UsageError."""
    suffixes = PurePath(name.lower()).suffixes
    for ending in ("".join(suffixes[-2:]), "".join(suffixes[-1:])):
        if ending in _ENDINGS:
            return _ENDINGS[ending]
    known = ", ".join(_ENDINGS)
    raise UsageError(f"-o {name}: no --format before it, and its end is none of {known}")


def render(report: Report, format: str, fail_on: FailOn = "must") -> str:
    """A report in one of the formats; `fail_on` decides what a failure is where one has to say."""
    module = import_module(f"dovetail_check.reports.{FORMATS[format]}")
    write: Render = module.render
    return write(report, fail_on)
