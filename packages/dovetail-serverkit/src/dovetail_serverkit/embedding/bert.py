"""The BERT encoder in numpy: turns the tokens of a text into one vector by mean pooling.

Implemented here because the usual libraries take a gigabyte. Tests compare its vectors with those
that sentence-transformers computes from the same weights.
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
# Tokens in one forward pass, including padding: bounds the activations to about 10 MB.
_MAX_TOKENS = 512
_MASKED = np.float32(-1e9)


@dataclass(frozen=True, slots=True)
class Shape:
    """Parameters of the model that cannot be derived from the weights."""

    layers: int
    heads: int
    epsilon: float


class _Layer:
    """One transformer layer: self-attention, then a feed-forward network."""

    def __init__(self, weights: Weights, prefix: str, shape: Shape) -> None:
        own = {
            name.removeprefix(prefix): one
            for name, one in weights.items()
            if name.startswith(prefix)
        }
        projections = [f"attention.self.{name}" for name in ("query", "key", "value")]
        # One matrix product instead of three.
        self._projection = np.concatenate([own[f"{name}.weight"] for name in projections]).T
        self._projection_bias = np.concatenate([own[f"{name}.bias"] for name in projections])
        self._own = own
        self._shape = shape

    def __call__(self, tokens: Vectors, mask: Vectors) -> Vectors:
        """Return the next state of the tokens, an array of (texts, length, width)."""
        attention = self._linear("attention.output.dense", self._attend(tokens, mask))
        attended = self._normalize("attention.output.LayerNorm", attention + tokens)
        inner = gelu(self._linear("intermediate.dense", attended))
        return self._normalize("output.LayerNorm", self._linear("output.dense", inner) + attended)

    def _attend(self, tokens: Vectors, mask: Vectors) -> Vectors:
        texts, length, width = tokens.shape
        heads = self._shape.heads
        projected = tokens.reshape(-1, width) @ self._projection + self._projection_bias
        # (query, key, value; texts, heads, length, width of a head)
        parts = projected.reshape(texts, length, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        query, key, value = parts
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32((width // heads) ** -0.5)
        scores += mask
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

    def _normalize(self, name: str, rows: Vectors) -> Vectors:
        weight, bias = self._own[f"{name}.weight"], self._own[f"{name}.bias"]
        return _normalize(rows, weight, bias, self._shape.epsilon)


def _normalize(rows: Vectors, weight: Vectors, bias: Vectors, epsilon: float) -> Vectors:
    rows = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.einsum("...i,...i->...", rows, rows)[..., None] / np.float32(rows.shape[-1])
    rows /= np.sqrt(variance + np.float32(epsilon))
    rows *= weight
    rows += bias
    return rows


class Bert:
    """The encoder with its weights."""

    def __init__(self, weights: Weights, shape: Shape) -> None:
        self._words = weights["embeddings.word_embeddings.weight"]
        self._positions = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._input_norm = (
            weights["embeddings.LayerNorm.weight"],
            weights["embeddings.LayerNorm.bias"],
        )
        self._layers = [
            _Layer(weights, f"encoder.layer.{number}.", shape) for number in range(shape.layers)
        ]
        self._epsilon = shape.epsilon

    def encode(self, texts: Sequence[Sequence[int]]) -> Vectors:
        """Return one vector of unit length per text, given the token ids of each text."""
        made = np.empty((len(texts), self._words.shape[1]), dtype=np.float32)
        # Batch texts of similar length, because padding costs as much time as tokens.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        while order:
            count = max(1, _MAX_TOKENS // len(texts[order[-1]]))
            batch, order = order[-count:], order[:-count]
            made[batch] = self._pass([texts[at] for at in batch])
        return made

    def _pass(self, texts: Sequence[Sequence[int]]) -> Vectors:
        longest = max(map(len, texts))
        ids = np.zeros((len(texts), longest), dtype=np.int64)
        is_token = np.zeros((len(texts), longest), dtype=np.float32)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            is_token[row, : len(text)] = 1
        embedded = self._words[ids] + self._positions[:longest]
        state = _normalize(embedded, *self._input_norm, self._epsilon)
        mask = ((1 - is_token) * _MASKED)[:, None, None, :]
        for layer in self._layers:
            state = layer(state, mask)
        total = np.einsum("tlw,tl->tw", state, is_token)
        made: Vectors = total / np.linalg.norm(total, axis=1, keepdims=True)
        return made
