"""What `FILE.py[:NAME]` and `PACKAGE.MODULE[:NAME]` mean, and how they are imported.

A file inside a package, a folder with `__init__.py`, is imported as a part of that package, so that
its relative imports work. Nothing here knows what a module contains.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from dovetail.errors import UsageError

__all__ = ["EXPECTED", "PythonSource", "find_missing_neighbour", "import_source", "parse_source"]

_FILE = re.compile(r"(?P<file>.+\.py)(?::(?P<name>[^:/\\]*))?")
_MODULE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*)(?::(?P<name>[^:/\\.]*))?")
EXPECTED = "expected FILE.py[:NAME] or PACKAGE.MODULE[:NAME]"


class PythonSource(NamedTuple):
    """A file or a module, and the name of what it serves."""

    # The file or the module as written.
    text: str
    name: str | None
    # None for a module.
    file: Path | None

    @property
    def is_ambiguous(self) -> bool:
        """Whether the text can be a command as well."""
        return self.file is None and self.name is None

    @property
    def can_be_found(self) -> bool:
        """Whether there is such a file, or a module or package whose name begins so."""
        return self.file.is_file() if self.file is not None else _find_top(self.text) is not None

    @property
    def is_module(self) -> bool:
        """Whether the text names a module and no command."""
        if self.file is not None:
            return False
        return not self.is_ambiguous or (shutil.which(self.text) is None and self.can_be_found)

    @property
    def absolute(self) -> str:
        """The same source for a process in another directory, as far as that is possible."""
        text = self.text if self.file is None else str(self.file.resolve())
        return f"{text}:{self.name}" if self.name else text

    @property
    def folder(self) -> Path:
        """The folder with its Python files; of the whole package if it is in one."""
        if self.file is None:
            top = _find_top(self.text)
            origin = None if top is None else top.origin
            return Path.cwd() if origin is None else Path(origin).resolve().parent
        file = self.file.resolve()
        root, dotted = _find_package(file)
        return root / dotted.partition(".")[0] if dotted else file.parent


def parse_source(text: str) -> PythonSource | None:
    """The parts of a text; None if it has another form."""
    if (match := _FILE.fullmatch(text)) is not None:
        return PythonSource(match["file"], match["name"], Path(match["file"]))
    if (match := _MODULE.fullmatch(text)) is not None:
        return PythonSource(match["module"], match["name"], None)
    return None


def _find_top(module: str) -> ModuleSpec | None:
    """The first part of a dotted name, without importing it."""
    return PathFinder.find_spec(module.partition(".")[0], [str(Path.cwd()), *sys.path])


def _find_package(file: Path) -> tuple[Path, str]:
    """The folder above the outermost package, and the dotted name; empty outside of packages."""
    names = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    if folder == file.parent or not file.stem.isidentifier():
        return file.parent, ""
    return folder, ".".join(names)


def import_source(source: PythonSource) -> ModuleType:
    """Import the module; raises UsageError if there is none, and whatever it raises itself."""
    if source.file is None:
        _prepend(Path.cwd())
        _require_module(source.text)
        return importlib.import_module(source.text)
    file = source.file.resolve()
    root, dotted = _find_package(file)
    _prepend(root)
    if not dotted:
        return _run_file(file)
    module = importlib.import_module(dotted)
    if Path(module.__file__ or "").resolve() != file:
        raise UsageError(
            f"{source.text!r} is {dotted!r}, but Python knows another module of that name, "
            f"{module.__file__}; rename the package {dotted.partition('.')[0]!r}"
        )
    return module


def _prepend(folder: Path) -> None:
    if str(folder) not in sys.path[:1]:
        sys.path.insert(0, str(folder))


def _require_module(dotted: str) -> None:
    """Import the packages around a module; raises UsageError if one part is missing."""
    parent: ModuleType | None = None
    for name in dotted.split("."):
        path = None if parent is None else getattr(parent, "__path__", None)
        if parent is not None and path is None:
            raise UsageError(f"There is no module {dotted!r}: {parent.__name__!r} is no package")
        whole = name if parent is None else f"{parent.__name__}.{name}"
        if whole not in sys.modules and importlib.util.find_spec(whole) is None:
            place = os.getcwd() if parent is None else parent.__name__
            raise UsageError(f"There is no module {name!r} in {place!r}; {EXPECTED}")
        if whole != dotted:
            parent = importlib.import_module(whole)


def _run_file(file: Path) -> ModuleType:
    # Not the name of the file: a server in `random.py` must not replace the stdlib module.
    name = f"dovetail_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def find_missing_neighbour(source: PythonSource, error: BaseException | None) -> str:
    """What to do if a file in a package imports the file beside it by its bare name, or empty."""
    if source.file is None or not isinstance(error, ModuleNotFoundError):
        return ""
    file = source.file.resolve()
    _, dotted = _find_package(file)
    name = error.name or ""
    if not dotted or not (file.parent / f"{name}.py").is_file():
        return ""
    package = dotted.partition(".")[0]
    return f"\n{file.name} belongs to the package {package!r}; write: from . import {name}"
