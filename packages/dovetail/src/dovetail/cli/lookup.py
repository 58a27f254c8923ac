"""Finds a tool or a prompt by its name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

from dovetail.cli.failures import WRONG_USAGE, Failure
from dovetail.spec.models import Prompt, Tool

__all__ = ["find_named"]

T = TypeVar("T", Tool, Prompt, Tool | Prompt)


def find_named(name: str, kind: str, entries: Iterable[T], hint: str = "") -> T:
    """The first entry with this name; raises Failure that suggests another one."""
    named: dict[str, T] = {}
    for entry in entries:
        named.setdefault(entry.name, entry)
    if name in named:
        return named[name]
    close = difflib.get_close_matches(name, named, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    plural = " and ".join(f"{word}s" for word in kind.split(" or "))
    known = f"Available {plural}: {', '.join(named) or 'none'}"
    raise Failure(f"The server has no {kind} {name!r}{guess} {known}{hint}", WRONG_USAGE)
