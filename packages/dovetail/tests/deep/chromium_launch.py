"""How tests of pages start Chromium with Playwright."""

from __future__ import annotations

import os
import shutil
from typing import TypedDict

__all__ = ["LaunchOptions", "chromium_launch"]


class LaunchOptions(TypedDict):
    """Arguments of Playwright's `chromium.launch`."""

    executable_path: str
    args: list[str]


def chromium_launch() -> LaunchOptions:
    """The program and its flags.

    The headless shell has the same engine and no windows: a page takes half of the CPU time.
    """
    named = os.environ.get("CHROME_PATH")
    program = named or shutil.which("chromium-headless-shell") or shutil.which("chromium")
    assert program, "install chromium-headless-shell, or name a Chromium in CHROME_PATH"
    return {"executable_path": program, "args": ["--no-sandbox", "--disable-gpu"]}
