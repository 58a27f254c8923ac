"""The model all-MiniLM-L6-v2: 384 dimensions, about 10 ms per text on one core, no network.

The extra `embeddings` installs its weights. They are loaded when the first text is embedded, not
at server startup.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.weights import find_folder, read_checked, read_header
from dovetail_serverkit.embedding.wordpiece import WordPieceTokenizer

if TYPE_CHECKING:
    from dovetail_serverkit.embedding.bert import Bert

__all__ = ["MiniLM", "find_minilm"]

_LAYERS, _HEADS, _EPSILON = 6, 12, 1e-12
_MAX_TOKENS = 256
# Queries repeat, with other filters or for the next page.
_CACHE_SIZE = 256


def find_minilm() -> MiniLM | None:
    """Return the model, or None if no package with its weights is installed."""
    folder = find_folder()
    return None if folder is None else MiniLM(folder)


class MiniLM:
    """The model, with weights and vocabulary from a folder."""

    name = "all-MiniLM-L6-v2"
    dimensions = 384
    # Questions are seldom much more similar to their answer; docs/graph.md has the measurements.
    min_similarity = 0.2

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[WordPieceTokenizer, Bert] | None = None
        self._cache: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row per text. The vectors of single texts are cached."""
        if len(texts) != 1:
            return self._compute(texts)
        [text] = texts
        with self._lock:
            vectors = self._cache.get(text)
        if vectors is None:
            vectors = self._compute(texts)
        with self._lock:
            self._cache[text] = vectors
            self._cache.move_to_end(text)
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        return vectors.copy()

    def _compute(self, texts: Sequence[str]) -> Vectors:
        tokenizer, bert = self._load()
        return bert.encode([tokenizer.encode(text) for text in texts])

    def _load(self) -> tuple[WordPieceTokenizer, Bert]:
        with self._lock:
            if self._loaded is None:
                from dovetail_serverkit.embedding.bert import Bert, Shape  # noqa: PLC0415 - numpy
                from dovetail_serverkit.embedding.tensors import read_tensors  # noqa: PLC0415

                words = bytes(read_checked(self._folder / "vocab.txt")).decode("utf-8")
                content = read_checked(self._folder / "model.safetensors")
                weights = read_tensors(content, read_header(content))
                tokenizer = WordPieceTokenizer(words.splitlines(), _MAX_TOKENS)
                self._loaded = tokenizer, Bert(weights, Shape(_LAYERS, _HEADS, _EPSILON))
            return self._loaded
