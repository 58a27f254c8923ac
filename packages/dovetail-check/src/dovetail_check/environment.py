"""What a server that is checked gets to see of the environment: what a program needs to start.

Not more: a tool may say what it finds there, and what a server says is kept as evidence. Whatever
else it needs is given by name (`--env`), and is masked wherever it comes back.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["plain_environment"]

_NEEDED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "PWD"),
        # Where interpreters and package runners find what is installed.
        *("VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
        # Windows does not start anything without these.
        *("APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "USERPROFILE"),
    )
)
# Locale, and the tools that measure a test run.
_FAMILIES = ("LC_", "COVERAGE_", "PYTEST_")


def plain_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that are handed on."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in _NEEDED or name.startswith(_FAMILIES)
    }
