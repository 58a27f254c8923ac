"""`dovetail serve design`: the options of the command line and the server they describe."""

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
from dovetail_design.server import DesignOptions, build_server

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build", "default_folder"]

SUMMARY = "A design studio: canvases of typed elements, drawn on this machine, with all versions."

ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["place"], required=False, metavar="[DIR]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--dir", "directory"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Where designs and files are kept; by default in your data directory.",
    ),
    click.Option(
        ["--folder"],
        type=click.Path(file_okay=False, path_type=Path),
        multiple=True,
        metavar="DIR",
        help="A folder to upload from and to save exports to; may be given several times.",
    ),
    click.Option(
        ["--fonts"],
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Fonts of your own, beside those that are bundled.",
    ),
)


# What drawing needs; loaded when something is drawn, which would be late to find out.
_LIBRARIES = ("skia", "PIL", "segno", "pptx")
_SYSTEM_LIBRARIES = {"libEGL.so.1": "libegl1", "libGL.so.1": "libgl1"}


def default_folder() -> Path:
    """Where designs are kept unless told: in the user's data directory."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "dovetail" / "design"


def build(
    *,
    place: str | None = None,
    directory: Path | None = None,
    folder: Path | Sequence[Path] | None = (),
    fonts: Path | None = None,
    **_others: Any,
) -> Server:
    """The server that the options describe; its directory is the default one unless told."""
    _check_libraries()
    if place is not None and directory is not None:
        raise UsageError("DIR and --dir are the same; give one of them")
    path = Path(place) if place is not None else directory or default_folder()
    # With `dovetail serve all` another server's option of this name takes one folder only.
    folders = [folder] if isinstance(folder, Path) else folder or ()
    options = DesignOptions(folders=tuple(folders), fonts=fonts)
    return build_server(path.expanduser().absolute(), options)


def _check_libraries() -> None:
    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"dovetail serve design needs {', '.join(missing)}: pip install 'dovetail[design]'"
        )
    if sys.platform != "linux":
        return
    for name, package in _SYSTEM_LIBRARIES.items():
        try:
            ctypes.CDLL(name)
        except OSError:
            raise UsageError(
                f"Drawing needs {name}, which is not on this machine; on Debian it is in "
                f"the package {package}"
            ) from None
