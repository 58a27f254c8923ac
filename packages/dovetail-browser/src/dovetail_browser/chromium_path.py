"""Finds the Chromium executable."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from dovetail import UsageError

__all__ = ["VARIABLE", "find_chromium"]

# The environment variable that other Chromium tools use as well.
VARIABLE = "CHROME_PATH"

# Names to search on PATH, in this order.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_INSTALL = (
    "Install it (Debian and Ubuntu: apt-get install chromium; Fedora: dnf install chromium; "
    "macOS: brew install --cask chromium), or set CHROME_PATH to its path, or pass the address "
    "of a running browser with --connect"
)


def find_chromium(environment: Mapping[str, str] = os.environ) -> str:
    """Return the path of the executable; UsageError says how to install it."""
    path = environment.get("PATH", os.defpath)
    named = environment.get(VARIABLE)
    if named:
        found = shutil.which(os.path.expanduser(named), path=path)
        if found is None:
            raise UsageError(f"{VARIABLE} is {named!r}, which is not an executable. {_INSTALL}.")
        return found
    for name in _NAMES:
        if found := shutil.which(name, path=path):
            return found
    looked_for = ", ".join(_NAMES)
    raise UsageError(f"Chromium was not found: none of {looked_for} is on PATH. {_INSTALL}.")
