"""Find what a `$ref` of a JSON Schema points to, within the same document."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from msgspec import UNSET

__all__ = ["References"]

# The address of a document without `$id`. It is never used for a request.
_BASE = "http://schema.invalid/"


class References:
    """The parts of one document that have an address; every `$id` starts an inner document."""

    def __init__(self, root: Any) -> None:
        self._targets: dict[str, Any] = {_BASE: root}
        self._bases: dict[int, str] = {}
        waiting = [(root, _BASE)]
        while waiting:
            node, base = waiting.pop()
            if isinstance(node, dict):
                base = self._add(node, base)
            if isinstance(node, dict | list):
                inner = node.values() if isinstance(node, dict) else node
                waiting += [(part, base) for part in inner]

    def find(self, schema: dict[str, Any], reference: str) -> Any:
        """The schema that a reference in `schema` leads to; UNSET if it is not in the document."""
        try:
            address = urljoin(self._bases[id(schema)], reference)
        except ValueError:
            return UNSET
        document, pointer = urldefrag(address)
        if not pointer.startswith("/"):
            return self._targets.get(address.removesuffix("#"), UNSET)
        found = self._targets.get(document, UNSET)
        for part in pointer[1:].split("/"):
            found = _step(found, unquote(part).replace("~1", "/").replace("~0", "~"))
        return found

    def _add(self, node: dict[str, Any], base: str) -> str:
        """Note the addresses of a part; returns the address of the document that it is in."""
        if isinstance(node.get("$id"), str):
            try:
                base = urldefrag(urljoin(base, node["$id"]))[0] or base
            except ValueError:
                pass
            else:
                self._targets[base] = node
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(keyword), str):
                self._targets[f"{base}#{node[keyword]}"] = node
        self._bases[id(node)] = base
        return base


def _step(node: Any, key: str) -> Any:
    if isinstance(node, dict):
        return node.get(key, UNSET)
    if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
        return node[int(key)]
    return UNSET
