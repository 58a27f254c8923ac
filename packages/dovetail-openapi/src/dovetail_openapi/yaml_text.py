"""Read YAML that may be hostile: nesting, aliases and size are limited before it is loaded.

The C parser of PyYAML crashes the process on deep nesting, and a few lines of aliases can stand
for billions of values, so the events are counted first.
"""

from __future__ import annotations

from typing import Any, ClassVar

import yaml

from dovetail.errors import UsageError

__all__ = ["read_yaml"]

MAX_DEPTH = 200
MAX_VALUES = 5_000_000
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


def read_yaml(text: str) -> Any:
    """Return the value of a YAML document, with text for keys and dates; raises UsageError."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Keeps dates as text, and makes every key text: `200:` is the key "200"."""

        yaml_implicit_resolvers: ClassVar[Any] = {
            first: [(tag, regexp) for tag, regexp in resolvers if tag != _TIMESTAMP]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[str, Any]:
            self.flatten_mapping(node)
            return {
                str(key.value): self.construct_object(value, deep=True) for key, value in node.value
            }

    try:
        _check_size(yaml, base, text)
        return yaml.load(text, Loader)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"the document is neither JSON nor valid YAML: {problem}") from None


def _check_size(yaml: Any, loader: Any, text: str) -> None:
    """Count the values, each alias as often as it is used."""
    sizes: dict[str, int] = {}
    # For each open mapping or sequence: its anchor and the values in it so far.
    open_nodes: list[tuple[str | None, int]] = []
    total = 0
    for event in yaml.parse(text, loader):
        size = 0
        if isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, total))
            size = 1
            if len(open_nodes) > MAX_DEPTH:
                line = event.start_mark.line + 1
                raise UsageError(f"the YAML is nested more than {MAX_DEPTH} levels (line {line})")
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            size = 1
            if event.anchor is not None:
                sizes[event.anchor] = 1
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in sizes:
                line = event.start_mark.line + 1
                raise UsageError(f"the YAML alias *{event.anchor} contains itself (line {line})")
            size = sizes[event.anchor]
        total += size
        if total > MAX_VALUES:
            raise UsageError(f"the YAML has more than {MAX_VALUES:,} values")
