"""Load YAML as JSON values, with limits that are checked before anything is built.

PyYAML composes nodes recursively in C, so deep nesting ends the process, and it expands merge keys
without a limit. Here the values are built from the events of the parser. The parser of libyaml does
not recurse, and its time is linear once the depth is bounded, so this is safe for any note in the
server's process. An alias counts as everything that it stands for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

__all__ = [
    "MAX_CHARS",
    "YamlValueError",
    "check_values",
    "dump_flow_item",
    "dump_scalar",
    "dump_yaml",
    "load_yaml",
    "scalar_value",
]

MAX_DEPTH = 50
MAX_VALUES = 20_000
# Of all scalars together, with aliases expanded.
MAX_CHARS = 256 * 1024
_MAX_NUMBER = 15
_PREFIX = "tag:yaml.org,2002:"
# Scalars of YAML 1.2, as in Obsidian: `yes`, dates and 12:30 are strings.
_NULL = re.compile(r"(?:~|null|Null|NULL)?\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?\Z")
_MERGE = "<<"
_WIDTH = 10_000
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Dumper(yaml.SafeDumper):
    """Escapes line breaks other than newlines, which would become newlines or spaces.

    Dates are texts, as in the loader, and need no quotes.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        first: [pair for pair in pairs if pair[0] != f"{_PREFIX}timestamp"]
        for first, pairs in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _OTHER_BREAKS.search(text) else None
    return dumper.represent_scalar(f"{_PREFIX}str", text, style)


_Dumper.add_representer(str, _represent_text)


class YamlValueError(ValueError):
    """The text is not valid YAML, or exceeds a limit."""


def load_yaml(text: str) -> Any:
    """Return the value of a YAML document. Raises YamlValueError."""
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.add(event)
    except yaml.YAMLError as error:
        raise YamlValueError(_describe(error)) from None
    except UnicodeEncodeError:
        raise YamlValueError("it is not valid UTF-8") from None
    return builder.result


def dump_scalar(value: Any, style: str | None) -> str | None:
    """Return a scalar as YAML on one line, texts in quotes of this style; None if it needs more."""
    style = style if isinstance(value, str) else None
    dumped = str(
        yaml.dump(value, Dumper=_Dumper, allow_unicode=True, width=_WIDTH, default_style=style)
    )
    written = dumped.removesuffix("\n...\n").removesuffix("\n")
    return None if "\n" in written else written


def dump_flow_item(value: Any) -> str:
    """Return a value as an item of a list in brackets."""
    dumped = yaml.dump(
        [value], Dumper=_Dumper, allow_unicode=True, width=_WIDTH, default_flow_style=True
    )
    return str(dumped).strip()[1:-1]


def dump_yaml(values: Mapping[str, Any]) -> str:
    """Return JSON values as YAML; the caller has checked them with `check_values`."""
    dumped = yaml.dump(
        dict(values), Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=_WIDTH
    )
    return str(dumped)


def check_values(values: Mapping[str, Any]) -> None:
    """Raise YamlValueError if JSON values exceed the limits; does not recurse."""
    count = chars = 0
    level: list[Any] = [values]
    for _ in range(MAX_DEPTH + 1):
        following: list[Any] = []
        for value in level:
            count += 1
            if isinstance(value, dict):
                chars += sum(map(len, value))
                following += value.values()
            elif isinstance(value, list):
                following += value
            elif isinstance(value, str):
                chars += len(value)
        if count + len(following) > MAX_VALUES:
            raise YamlValueError(f"too many values, at most {MAX_VALUES} are allowed")
        if chars > MAX_CHARS:
            raise YamlValueError(f"too long, at most {MAX_CHARS} characters are allowed")
        if not following:
            return
        level = following
    raise YamlValueError(f"nested too deeply, at most {MAX_DEPTH} levels are allowed")


class _Weight:
    """What a value stands for: the number of values, their characters, and the levels."""

    __slots__ = ("chars", "height", "values")

    def __init__(self, values: int, chars: int, height: int) -> None:
        self.values = values
        self.chars = chars
        self.height = height


class _Open:
    """A list or mapping that is not complete yet."""

    __slots__ = ("anchor", "before", "has_key", "height", "items", "key", "keys", "merged", "tag")

    def __init__(self, event: Any, keys: dict[str, Any] | None, before: tuple[int, int]) -> None:
        self.anchor = event.anchor
        self.tag = event.tag
        self.items: list[Any] = []
        self.keys = keys
        self.has_key = False
        self.key: str | None = None
        self.merged: list[dict[str, Any]] = []
        self.before = before
        self.height = 1


class _Builder:
    """Builds the value of one document from events."""

    def __init__(self) -> None:
        self.result: Any = None
        self._documents = 0
        self._open: list[_Open] = []
        # None while the value is still being built.
        self._anchors: dict[str, tuple[Any, _Weight] | None] = {}
        self._values = 0
        self._chars = 0

    def add(self, event: Any) -> None:
        """Process one event."""
        if isinstance(event, yaml.ScalarEvent):
            self._add_scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._add_alias(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end(event)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise _error("there is more than one document", event)
            if event.tags:
                # Each tag would be looked up in all of them.
                raise _error("%TAG directives are not allowed", event)

    def _add_scalar(self, event: Any) -> None:
        text = event.value
        self._count(1, len(text), 0, event)
        is_merge = _is_merge(event)
        value = text if is_merge else _scalar(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, _Weight(1, len(text), 0))
        self._place(value, event, is_merge=is_merge)

    def _add_alias(self, event: Any) -> None:
        if event.anchor not in self._anchors:
            raise _error(f"found undefined alias {event.anchor!r}", event)
        found = self._anchors[event.anchor]
        if found is None:
            raise _error(f"the alias {event.anchor!r} is inside of its own value", event)
        value, weight = found
        self._count(weight.values, weight.chars, weight.height, event)
        if self._open:
            self._open[-1].height = max(self._open[-1].height, weight.height + 1)
        self._place(value, event)

    def _start(self, event: Any) -> None:
        before = (self._values, self._chars)
        self._count(1, 0, 1, event)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        allowed = ("map", "set") if is_mapping else ("seq",)
        if event.tag not in (None, "!", *(f"{_PREFIX}{name}" for name in allowed)):
            raise _unknown_tag(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._open.append(_Open(event, {} if is_mapping else None, before))

    def _end(self, event: Any) -> None:
        done = self._open.pop()
        value: Any = done.items
        if done.keys is not None:
            value = {}
            # Of several merged mappings the first one counts, and own keys before all of them.
            for merged in reversed(done.merged):
                value.update(merged)
            value.update(done.keys)
            if done.tag == f"{_PREFIX}set":
                value = list(value)
        if done.anchor is not None:
            values, chars = done.before
            weight = _Weight(self._values - values, self._chars - chars, done.height)
            self._anchors[done.anchor] = (value, weight)
        if self._open:
            self._open[-1].height = max(self._open[-1].height, done.height + 1)
        self._place(value, event)

    def _place(self, value: Any, event: Any, *, is_merge: bool = False) -> None:
        """Add a complete value to the list or mapping around it."""
        if not self._open:
            self.result = value
            return
        parent = self._open[-1]
        if parent.keys is None:
            parent.items.append(value)
        elif not parent.has_key:
            if isinstance(value, dict | list):
                raise _error("found unhashable key", event)
            parent.has_key, parent.key = True, None if is_merge else _key(value)
        else:
            parent.has_key = False
            if parent.key is not None:
                parent.keys[parent.key] = value
            else:
                merged = value if isinstance(value, list) else [value]
                if not all(isinstance(one, dict) for one in merged):
                    raise _error("expected a mapping or list of mappings for merging", event)
                parent.merged += merged

    def _count(self, values: int, chars: int, height: int, event: Any) -> None:
        self._values += values
        self._chars += chars
        if self._values > MAX_VALUES:
            raise _error(f"too many values, at most {MAX_VALUES} are allowed", event)
        if self._chars > MAX_CHARS:
            raise _error(f"too long, at most {MAX_CHARS} characters are allowed", event)
        if len(self._open) + height > MAX_DEPTH:
            raise _error(f"nested too deeply, at most {MAX_DEPTH} levels are allowed", event)


def _is_merge(event: Any) -> bool:
    if event.tag == f"{_PREFIX}merge":
        return True
    return bool(event.implicit[0] and event.value == _MERGE)


def _scalar(event: Any) -> Any:
    """Return the value of a scalar: by its tag, else by its form if it is not quoted."""
    text, tag = event.value, event.tag
    if tag is None or tag == "!":
        return scalar_value(text) if event.implicit[0] else text
    name = tag.removeprefix(_PREFIX)
    if name in ("str", "timestamp"):
        return text
    if name not in ("null", "bool", "int", "float"):
        raise _unknown_tag(event)
    value = scalar_value(text)
    if name == "int" and _INT.match(text):
        return value
    kinds: dict[str, Any] = {"null": type(None), "bool": bool, "int": int, "float": int | float}
    if not isinstance(value, kinds[name]):
        raise _error(f"{text[:50]!r} is not of the type {name}", event)
    return value


def scalar_value(text: str) -> Any:
    """Return the value of a scalar without quotes."""
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text):
        # Longer ones are identifiers like account numbers, and JSON would round them.
        return int(text) if len(text) <= _MAX_NUMBER else text
    if _FLOAT.match(text):
        number = float(text)
        return number if abs(number) != float("inf") else str(number)
    return text


def _key(key: Any) -> str:
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    return str(key)


def _describe(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{what} at line {mark.line + 2}" if mark is not None else str(what)


def _error(problem: str, event: Any) -> YamlValueError:
    # The frontmatter starts in line 2 of the note.
    return YamlValueError(f"{problem} at line {event.start_mark.line + 2}")


def _unknown_tag(event: Any) -> YamlValueError:
    return _error(f"could not determine a constructor for the tag {event.tag[:100]!r}", event)
