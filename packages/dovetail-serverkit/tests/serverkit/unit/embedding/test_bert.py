"""Compares the encoder, with small random weights, to a naive implementation."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dovetail_serverkit.embedding.bert import Bert, Shape
from dovetail_serverkit.embedding.numeric import np

WIDTH, INNER, HEADS, LAYERS, WORDS = 8, 16, 2, 2, 30


@pytest.fixture
def weights() -> dict[str, Any]:
    chance = np.random.default_rng(7)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.position_embeddings.weight": (20, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        for name, rows, columns in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH),
            ("output.dense", WIDTH, INNER),
        ):
            shapes[f"{layer}{name}.weight"] = (rows, columns)
            shapes[f"{layer}{name}.bias"] = (rows,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{layer}{name}.weight"] = shapes[f"{layer}{name}.bias"] = (WIDTH,)
    return {name: chance.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def encode_naively(weights: dict[str, Any], tokens: list[int]) -> Any:
    """One text, one head, one token at a time, in double precision."""
    exact = {name: one.astype(np.float64) for name, one in weights.items()}

    def linear(name: str, row: Any) -> Any:
        return exact[f"{name}.weight"] @ row + exact[f"{name}.bias"]

    def normal(name: str, row: Any) -> Any:
        row = (row - row.mean()) / math.sqrt(row.var() + 1e-12)
        return row * exact[f"{name}.weight"] + exact[f"{name}.bias"]

    def attend(layer: str, rows: list[Any]) -> list[Any]:
        size = WIDTH // HEADS
        seen = [[] for _ in rows]  # type: list[list[Any]]
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            query, key, value = (
                [linear(f"{layer}attention.self.{name}", row)[part] for row in rows]
                for name in ("query", "key", "value")
            )
            for at, asked in enumerate(query):
                shares = np.array([math.exp(asked @ one / math.sqrt(size)) for one in key])
                shares /= shares.sum()
                seen[at].append(sum(share * one for share, one in zip(shares, value, strict=True)))
        return [np.concatenate(parts) for parts in seen]

    rows = [
        normal(
            "embeddings.LayerNorm",
            exact["embeddings.word_embeddings.weight"][token]
            + exact["embeddings.position_embeddings.weight"][at]
            + exact["embeddings.token_type_embeddings.weight"][0],
        )
        for at, token in enumerate(tokens)
    ]
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        mixed = [
            normal(
                f"{layer}attention.output.LayerNorm",
                linear(f"{layer}attention.output.dense", one) + row,
            )
            for one, row in zip(attend(layer, rows), rows, strict=True)
        ]
        inner = [linear(f"{layer}intermediate.dense", row) for row in mixed]
        gate = np.vectorize(lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))))
        rows = [
            normal(f"{layer}output.LayerNorm", linear(f"{layer}output.dense", gate(one)) + row)
            for one, row in zip(inner, mixed, strict=True)
        ]
    total = sum(rows)
    return total / np.linalg.norm(total)


def test_the_encoder_matches_the_naive_implementation(weights: dict[str, Any]) -> None:
    texts = [[1, 5, 2], [1, 2], [1, 7, 8, 9, 10, 2], [1, 3, 2]]
    made = Bert(weights, Shape(LAYERS, HEADS, 1e-12)).encode(texts)
    for text, vector in zip(texts, made, strict=True):
        assert np.abs(vector - encode_naively(weights, text)).max() < 1e-5
