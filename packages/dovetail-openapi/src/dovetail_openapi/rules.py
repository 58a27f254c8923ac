"""Which operations become tools, which become resources, and which are left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from dovetail.errors import UsageError

__all__ = ["Rule", "Target", "choose"]

Target = Literal["tool", "resource", "exclude"]
_TARGETS = ("tool", "resource", "exclude")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What happens to the operations that match all given conditions."""

    to: Target
    # HTTP methods in any case.
    methods: Collection[str] = ()
    # Patterns for the path as the document has it; `*` stands for any characters.
    paths: Collection[str] = ()
    tags: Collection[str] = ()
    # Patterns for the operationId.
    operations: Collection[str] = ()

    def __post_init__(self) -> None:
        if self.to not in _TARGETS:
            raise UsageError(f"Rule: to is one of {', '.join(_TARGETS)}, got {self.to!r}")
        for field in ("methods", "paths", "tags", "operations"):
            if isinstance(getattr(self, field), str):
                raise UsageError(f"Rule: {field} is a collection of strings, got a string")

    def matches(self, method: str, path: str, tags: Collection[str], operation_id: str) -> bool:
        """Whether an operation meets every condition."""
        return (
            (not self.methods or method.upper() in {each.upper() for each in self.methods})
            and (not self.paths or any(fnmatchcase(path, each) for each in self.paths))
            and (not self.tags or not set(self.tags).isdisjoint(tags))
            and (
                not self.operations
                or any(fnmatchcase(operation_id, each) for each in self.operations)
            )
        )


def choose(
    rules: Sequence[Rule], method: str, path: str, tags: Collection[str], operation_id: str
) -> Target:
    """Return the target of the first rule that matches; tool if there is none."""
    for rule in rules:
        if rule.matches(method, path, tags, operation_id):
            return rule.to
    return "tool"
