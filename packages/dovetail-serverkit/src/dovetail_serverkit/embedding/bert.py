"""The BERT encoder in numpy: tokens to one vector per text, the mean of its words.

Written here because the libraries that do it weigh a gigabyte. Tests hold it to the vectors that an
independent implementation made with the same weights. It knows nothing of files or packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.error_function import gelu
from dovetail_serverkit.embedding.numeric import np

__all__ = ["Bert", "Shape"]

Weights: TypeAlias = Mapping[str, Vectors]
# Tokens in one pass, with padding: 10 MB of numbers on the way, whatever is asked.
_MOST_TOKENS = 512
_FAR_BELOW = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the weights do not say of themselves."""

    layers: int
    heads: int
    epsilon: float


class _Layer:
    """One layer: who looks at whom, then each by itself."""

    def __init__(self, weights: Weights, prefix: str, shape: Shape) -> None:
        own = {
            name.removeprefix(prefix): one
            for name, one in weights.items()
            if name.startswith(prefix)
        }
        asking = [f"attention.self.{name}" for name in ("query", "key", "value")]
        # One product instead of three.
        self._asking = np.concatenate([own[f"{name}.weight"] for name in asking]).T
        self._asking_bias = np.concatenate([own[f"{name}.bias"] for name in asking])
        self._own = own
        self._shape = shape

    def __call__(self, tokens: Vectors, hidden_from: Vectors) -> Vectors:
        """The next state of the tokens (texts, length, width)."""
        looked = self._linear("attention.output.dense", self._attend(tokens, hidden_from))
        seen = self._normal("attention.output.LayerNorm", looked + tokens)
        inner = gelu(self._linear("intermediate.dense", seen))
        return self._normal("output.LayerNorm", self._linear("output.dense", inner) + seen)

    def _attend(self, tokens: Vectors, hidden_from: Vectors) -> Vectors:
        texts, length, width = tokens.shape
        heads = self._shape.heads
        asked = tokens.reshape(-1, width) @ self._asking + self._asking_bias
        # (query, key, value; texts, heads, length, width of a head)
        parts = asked.reshape(texts, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        query, key, value = parts
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32((width // heads) ** -0.5)
        scores += hidden_from
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Vectors = (scores @ value).transpose(0, 2, 1, 3).reshape(texts, length, width)
        return mixed

    def _linear(self, name: str, rows: Vectors) -> Vectors:
        weight = self._own[f"{name}.weight"]
        made: Vectors = rows.reshape(-1, rows.shape[-1]) @ weight.T
        made += self._own[f"{name}.bias"]
        return made.reshape(*rows.shape[:-1], -1)

    def _normal(self, name: str, rows: Vectors) -> Vectors:
        weight, bias = self._own[f"{name}.weight"], self._own[f"{name}.bias"]
        return _normal(rows, weight, bias, self._shape.epsilon)


def _normal(rows: Vectors, weight: Vectors, bias: Vectors, epsilon: float) -> Vectors:
    rows = rows - rows.mean(axis=-1, keepdims=True)
    spread = np.einsum("...i,...i->...", rows, rows)[..., None] / np.float32(rows.shape[-1])
    rows /= np.sqrt(spread + np.float32(epsilon))
    rows *= weight
    rows += bias
    return rows


class Bert:
    """Weights, and what they make of tokens."""

    def __init__(self, weights: Weights, shape: Shape) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._first = (
            weights["embeddings.LayerNorm.weight"],
            weights["embeddings.LayerNorm.bias"],
        )
        self._layers = [
            _Layer(weights, f"encoder.layer.{number}.", shape) for number in range(shape.layers)
        ]
        self._epsilon = shape.epsilon

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """A vector of length one for the tokens of each text."""
        made = np.empty((len(texts), self._words.shape[1]), dtype=np.float32)
        # Texts of about the same length go together: padding is calculated as well.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        while order:
            count = max(1, _MOST_TOKENS // len(texts[order[-1]]))
            batch, order = order[-count:], order[:-count]
            made[batch] = self._pass([texts[at] for at in batch])
        return made

    def _pass(self, texts: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, texts))
        numbers = np.zeros((len(texts), longest), dtype=np.int64)
        is_there = np.zeros((len(texts), longest), dtype=np.float32)
        for row, text in enumerate(texts):
            numbers[row, : len(text)] = text
            is_there[row, : len(text)] = 1
        state = _normal(self._words[numbers] + self._places[:longest], *self._first, self._epsilon)
        hidden_from = ((1 - is_there) * _FAR_BELOW)[:, None, None, :]
        for layer in self._layers:
            state = layer(state, hidden_from)
        total = np.einsum("tlw,tl->tw", state, is_there)
        made: Vectors = total / np.linalg.norm(total, axis=1, keepdims=True)
        return made
