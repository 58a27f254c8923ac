"""The OpenAPI document: reading it, walking it, and resolving `$ref`.

A `DocumentNode` is a value with its JSON pointer, so that errors say where the document is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias
from urllib.parse import unquote, urldefrag, urljoin

import msgspec
import yaml

from dovetail.errors import UsageError

__all__ = ["Document", "DocumentNode", "LoadRef", "Spec", "read_document", "read_yaml"]

Spec: TypeAlias = Mapping[str, Any] | str | Path
"""An OpenAPI document: a dict, a text in JSON or YAML, or a path."""
LoadRef: TypeAlias = Callable[[str], Mapping[str, Any]]
"""Returns the document at the URL of a `$ref`."""

MAX_BYTES = 32 * 1024 * 1024
_MAX_HOPS = 50
_SHOWN = 100
_VERSIONS = ("3.0", "3.1")


class Document:
    """One document, and the other documents that its references lead to."""

    def __init__(
        self,
        value: Any,
        url: str,
        load_ref: LoadRef | None = None,
        loaded: dict[str, Document] | None = None,
    ) -> None:
        self.value = value
        self.url = url
        self._load_ref = load_ref
        self._loaded = {} if loaded is None else loaded
        self._loaded[url] = self

    @property
    def root(self) -> DocumentNode:
        """The whole document."""
        return DocumentNode(self, self.value, "")

    @property
    def is_30(self) -> bool:
        """Whether schemas are those of OpenAPI 3.0 and not JSON Schema."""
        return str(self.value.get("openapi", "")).startswith("3.0")

    def find(self, reference: str, source: DocumentNode) -> DocumentNode:
        """Return the target of a `$ref` that is written at `source`; raises UsageError."""
        url, pointer = urldefrag(reference)
        document = self._open(urljoin(self.url, url), source) if url else self
        if pointer and not pointer.startswith("/"):
            raise source.error(f"the $ref {reference!r} is not a JSON pointer")
        value = document.value
        for step in pointer.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise source.error(f"the $ref {reference!r} leads nowhere: there is no {key!r}")
        return DocumentNode(document, value, unquote(pointer))

    def _open(self, url: str, source: DocumentNode) -> Document:
        if url in self._loaded:
            return self._loaded[url]
        if self._load_ref is None:
            raise source.error(
                f"the $ref leads to another document, {url!r}; pass load_ref=, a function that "
                "returns the document at a URL, to allow it"
            )
        value = self._load_ref(url)
        if not isinstance(value, Mapping):
            raise source.error(f"load_ref({url!r}) returned {type(value).__name__}, not a dict")
        return Document({**self._version(), **value}, url, self._load_ref, self._loaded)

    def _version(self) -> dict[str, Any]:
        """Parts of a document have no version of their own."""
        return {"openapi": self.value["openapi"]} if "openapi" in self.value else {}


class DocumentNode:
    """A value of the document with its JSON pointer."""

    __slots__ = ("document", "pointer", "value")

    def __init__(self, document: Document, value: Any, pointer: str) -> None:
        self.document: Document = document
        self.value: Any = value
        self.pointer: str = pointer

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the node among all documents."""
        return self.document.url, self.pointer

    def error(self, problem: str) -> UsageError:
        """Return the error that names this place."""
        return UsageError(f"OpenAPI document, {self.document.url}#{self.pointer}: {problem}")

    def find(self, key: str) -> DocumentNode | None:
        """Return a member of an object, None if there is none or it is null."""
        self.expect_object()
        value = self.value.get(key)
        return None if value is None else self._child(key, value)

    def members(self, key: str | None = None) -> Iterator[tuple[str, DocumentNode]]:
        """Yield the members of this object, or of the object under `key`, if there is one."""
        node = self if key is None else self.find(key)
        if node is not None:
            node.expect_object()
            for name, value in node.value.items():
                yield str(name), node._child(str(name), value)

    def items(self, key: str) -> Iterator[DocumentNode]:
        """Yield the items of the array under `key`, if there is one."""
        node = self.find(key)
        if node is not None:
            node._expect(list, "an array")
            for index, value in enumerate(node.value):
                yield node._child(str(index), value)

    def text(self, key: str) -> str:
        """Return a text, empty if it is missing."""
        node = self.find(key)
        if node is None:
            return ""
        node._expect(str, "a string")
        text: str = node.value
        return text

    def resolve(self) -> DocumentNode:
        """Return the node itself, or what its `$ref` leads to."""
        node = self
        for _ in range(_MAX_HOPS):
            node.expect_object()
            reference = node.value.get("$ref")
            if not isinstance(reference, str):
                return node
            node = node.document.find(reference, node)
        raise self.error("the $ref leads back to itself")

    def expect_object(self) -> None:
        """Raise UsageError unless this is an object."""
        self._expect(dict, "an object")

    def _child(self, key: str, value: Any) -> DocumentNode:
        step = key.replace("~", "~0").replace("/", "~1")
        return DocumentNode(self.document, value, f"{self.pointer}/{step}")

    def _expect(self, kind: type, words: str) -> None:
        if not isinstance(self.value, kind):
            raise self.error(f"expected {words}, got {_show(self.value)}")


def _show(value: Any) -> str:
    """Return a value for an error message: a large one by its kind."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def read_document(spec: Spec, load_ref: LoadRef | None = None) -> Document:
    """Return the document from a dict, a JSON or YAML text, or a file; raises UsageError."""
    url = ""
    if isinstance(spec, str) and "\n" not in spec and not spec.lstrip().startswith("{"):
        if "://" in spec:
            raise UsageError(f"a URL is not fetched: download {spec!r} and pass its content")
        spec = Path(spec)
    if isinstance(spec, Path):
        url = spec.absolute().as_uri()
        spec = _read_file(spec)
    value = _parse(spec) if isinstance(spec, str) else spec
    if not isinstance(value, Mapping):
        raise UsageError(f"an OpenAPI document is an object, got {type(value).__name__}")
    _check_version(value)
    return Document(dict(value), url, load_ref)


def _read_file(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _too_large(path.stat().st_size)
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read the OpenAPI document: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"the OpenAPI document {str(path)!r} is not UTF-8: {error}") from None


def _parse(text: str) -> Any:
    raw = text.encode(errors="surrogatepass")
    if len(raw) > MAX_BYTES:
        raise _too_large(len(raw))
    if not text.lstrip().startswith("{"):
        return read_yaml(text)
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the OpenAPI document is not valid JSON: {error}") from None


def _too_large(size: int) -> UsageError:
    return UsageError(
        f"the OpenAPI document has {size:,} bytes, more than the {MAX_BYTES:,} that are read; "
        "remove the parts that you do not need or pass it as a dict"
    )


def _check_version(value: Mapping[str, Any]) -> None:
    version = value.get("openapi")
    if version is None and "swagger" in value:
        raise UsageError(
            f"OpenAPI document, #/swagger: version {value['swagger']} is not supported; convert "
            "the document to OpenAPI 3 first"
        )
    if not str(version).startswith(_VERSIONS):
        raise UsageError(
            f"OpenAPI document, #/openapi: expected {' or '.join(_VERSIONS)}, got {version!r}"
        )


# -- YAML that may be hostile ----------------------------------------------------------------------
# The C parser of PyYAML crashes the process on deep nesting, and a few lines of aliases can stand
# for billions of values, so the events are counted before a document is loaded.

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
