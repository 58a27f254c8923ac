"""all-MiniLM-L6-v2: sentences to 384 numbers, 10 ms a text on one core, no network.

Its weights come in a package of their own (the extra `embeddings`). They are looked at when the
first text is embedded, not when the server starts.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.weights import find_folder, read_checked, read_header
from dovetail_serverkit.embedding.word_pieces import WordPieces

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.bert import Bert

__all__ = ["MiniLM", "find_minilm"]

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_LONGEST = 256
# Questions are asked again, with other filters or the next page.
_REMEMBERED = 256


def find_minilm() -> MiniLM | None:
    """The model, if a package with its weights is installed."""
    folder = find_folder()
    return None if folder is None else MiniLM(folder)


class MiniLM:
    """The model over the files of a folder."""

    name = "all-MiniLM-L6-v2"
    dimensions = 384
    # Questions are seldom more like their answer: docs/graph.md has what this keeps and drops.
    min_similarity = 0.2

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[WordPieces, Bert] | None = None
        self._remembered: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row per text."""
        if len(texts) != 1:
            return self._make(texts)
        [text] = texts
        with self._lock:
            known = self._remembered.get(text)
        if known is None:
            known = self._make(texts)
        with self._lock:
            self._remembered[text] = known
            self._remembered.move_to_end(text)
            while len(self._remembered) > _REMEMBERED:
                self._remembered.popitem(last=False)
        return known.copy()

    def _make(self, texts: Sequence[str]) -> Vectors:
        pieces, bert = self._load()
        return bert.encode([pieces.read(text) for text in texts])

    def _load(self) -> tuple[WordPieces, Bert]:
        with self._lock:
            if self._loaded is None:
                from dovetail_serverkit.embedding.bert import Bert, Shape  # noqa: PLC0415 - numpy
                from dovetail_serverkit.embedding.tensors import read_tensors  # noqa: PLC0415

                words = bytes(read_checked(self._folder / "vocab.txt")).decode("utf-8")
                content = read_checked(self._folder / "model.safetensors")
                weights = read_tensors(content, read_header(content))
                pieces = WordPieces(words.splitlines(), _LONGEST)
                self._loaded = pieces, Bert(weights, Shape(_LAYERS, _HEADS, _EPSILON))
            return self._loaded
