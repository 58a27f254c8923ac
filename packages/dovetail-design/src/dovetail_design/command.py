"""The options of `dovetail serve design` and the server that they configure."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dovetail import Server, UsageError
from dovetail.errors import MissingPackageError
from dovetail_design.server import DesignOptions, build_server
from dovetail_serverkit.tool_sets import TOOLS_OPTION, ToolSet

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build", "default_folder"]

SUMMARY = "Design server: create, check and export designs, with version history."

ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["place"], required=False, metavar="[DIR]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--dir", "directory"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Directory for designs and files (default: your data directory).",
    ),
    click.Option(
        ["--folder"],
        type=click.Path(file_okay=False, path_type=Path),
        multiple=True,
        metavar="DIR",
        help="Folder that clients may upload from and save exports to (repeatable).",
    ),
    click.Option(
        ["--fonts"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Directory with more fonts, in addition to the bundled ones.",
    ),
    TOOLS_OPTION,
)


# Libraries for rendering. They are imported at the first rendering, so check them at startup.
_LIBRARIES = ("skia", "PIL", "segno", "pptx", "fontTools", "pypdf")
_SYSTEM_LIBRARIES = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"}


def default_folder() -> Path:
    """Return the default directory for designs, in the user's data directory."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "dovetail" / "design"


def build(
    *,
    place: str | None = None,
    directory: Path | None = None,
    folder: Path | Sequence[Path] | None = (),
    fonts: Path | None = None,
    tools: ToolSet = "default",
    **_others: Any,
) -> Server:
    """Build the server for these options."""
    _check_libraries()
    if place is not None and directory is not None:
        raise UsageError("DIR and --dir are the same option; pass only one of them")
    path = Path(place) if place is not None else directory or default_folder()
    # With `dovetail serve all`, the option of another server with this name passes a single path.
    folders = [folder] if isinstance(folder, Path) else folder or ()
    options = DesignOptions(folders=tuple(folders), fonts=fonts, tools=tools)
    return build_server(path.expanduser().absolute(), options)


def _check_libraries() -> None:
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingPackageError("dovetail serve design", ", ".join(missing), "dovetail-design")
    if sys.platform != "linux":
        return
    for name, package in _SYSTEM_LIBRARIES.items():
        try:
            ctypes.CDLL(name)
        except OSError:
            raise UsageError(
                f"Rendering needs the system library {name}, which is not installed; on Debian "
                f"and Ubuntu: apt install {package}"
            ) from None
