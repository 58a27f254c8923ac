"""Loads all probes and rules, which register themselves on import."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

__all__ = ["load"]


@cache
def load() -> None:
    """Import every module of `probes` and `rules`."""
    for name in ("probes", "rules"):
        package = importlib.import_module(f"dovetail_check.{name}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
