"""Where the Chromium of this machine is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from dovetail import UsageError

__all__ = ["VARIABLE", "find_chromium"]

# The variable that names the browser, as other tools around Chromium have it.
VARIABLE = "CHROME_PATH"

# Looked for on PATH, in this order.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

_INSTALL = (
    "Install it (Debian and Ubuntu: apt-get install chromium; Fedora: dnf install chromium; "
    "macOS: brew install --cask chromium), or set CHROME_PATH to the program, or give the address "
    "of a running browser with --connect"
)


def find_chromium(environment: Mapping[str, str] = os.environ) -> str:
    """The path of the program; UsageError says how to get one."""
    path = environment.get("PATH", os.defpath)
    named = environment.get(VARIABLE)
    if named:
        found = shutil.which(os.path.expanduser(named), path=path)
        if found is None:
            raise UsageError(f"{VARIABLE} is {named!r}, which is no program. {_INSTALL}.")
        return found
    for name in _NAMES:
        if found := shutil.which(name, path=path):
            return found
    looked_for = ", ".join(_NAMES)
    raise UsageError(f"No Chromium was found: none of {looked_for} is on PATH. {_INSTALL}.")
