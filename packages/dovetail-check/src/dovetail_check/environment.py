"""The environment of a server process: only the variables that programs need to start.

A tool may return environment variables, and evidence keeps its output. Other variables must be
passed by name (`--env`); their values are masked in evidence.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

__all__ = ["minimal_environment"]

_NEEDED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "PWD"),
        # Used by interpreters and package runners to find packages.
        *("VIRTUAL_ENV", "PYTHONPATH", "NODE_PATH", "XDG_CACHE_HOME", "XDG_DATA_HOME"),
        # Required to start a process on Windows.
        *("APPDATA", "LOCALAPPDATA", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP", "USERPROFILE"),
    )
)
# Locale, and tools that measure a test run.
_PREFIXES = ("LC_", "COVERAGE_", "PYTEST_")


def minimal_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that are passed on."""
    return {
        name: value
        for name, value in environ.items()
        if name.upper() in _NEEDED or name.startswith(_PREFIXES)
    }
