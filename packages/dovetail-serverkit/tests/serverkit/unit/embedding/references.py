"""Vectors and token ids from a reference implementation; reference.md says how they were made."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.numeric import np


@dataclass(frozen=True, slots=True)
class Reference:
    text: str
    tokens: list[int]
    vector: Vectors


def read_references() -> list[Reference]:
    rows = json.loads(Path(__file__).with_name("reference.json").read_text("utf-8"))["texts"]
    return [
        Reference(
            row["text"], row["tokens"], np.frombuffer(base64.b64decode(row["vector"]), dtype="<f4")
        )
        for row in rows
    ]
