"""Loads the Server object from `FILE.py[:NAME]`.

The file may be missing or invalid, may raise anything, and may have no server or several. Each case
has its own error message.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from dovetail.errors import TransportError, UsageError
from dovetail.server import Server

__all__ = ["load_server", "split_spec"]

_SPEC = re.compile(r"(?P<file>.+\.py)(?::(?P<name>[^:/\\]*))?")


def split_spec(text: str) -> tuple[Path, str | None] | None:
    """The file and name of `FILE.py[:NAME]`; None if the text has another form."""
    match = _SPEC.fullmatch(text)
    return None if match is None else (Path(match["file"]), match["name"])


def load_server(text: str) -> Server:
    """Run the file and return its server; raises UsageError or TransportError."""
    parts = split_spec(text)
    if parts is None:
        raise UsageError(f"{text!r} is not a Python file; expected FILE.py or FILE.py:NAME")
    file, name = parts
    if not file.is_file():
        raise UsageError(f"There is no file {str(file)!r}")
    return _pick(vars(_run(file.resolve())), file, name)


def _run(file: Path) -> ModuleType:
    # Not the name of the file: a server in `random.py` must not replace the stdlib module.
    name = f"dovetail_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    with _LoadErrors(file):
        spec.loader.exec_module(module)
    return module


def _pick(names: Mapping[str, Any], file: Path, name: str | None) -> Server:
    servers = {key: value for key, value in names.items() if isinstance(value, Server)}
    if name is not None:
        if name in servers:
            return servers[name]
        found = f"a {type(names[name]).__name__}" if name in names else "nothing"
        raise UsageError(
            f"{str(file)!r} has no Server named {name!r}, but {found}; {_describe(servers)}"
        )
    # Two names of the same server count once; names with a leading underscore are ignored.
    different = {id(value): key for key, value in servers.items() if not key.startswith("_")}
    if len(different) == 1:
        return servers[next(iter(different.values()))]
    if not different:
        raise UsageError(f"{str(file)!r} has no Server at its top level; {_describe(servers)}")
    choices = ", ".join(f"{file}:{key}" for key in different.values())
    raise UsageError(f"{str(file)!r} has {len(different)} servers; choose one: {choices}")


def _describe(servers: Mapping[str, Server]) -> str:
    if not servers:
        return "add `server = dovetail.Server(...)`"
    return f"its servers: {', '.join(servers)}"


class _LoadErrors:
    """Converts exceptions of the loaded file to TransportError, without frames of this package."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, KeyboardInterrupt):
            return
        while frames is not None and frames.tb_frame.f_code.co_filename != str(self._file):
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames, chain=True)
        text = f"{str(self._file)!r} failed to load:\n{''.join(lines).rstrip()}"
        raise TransportError(text) from None
