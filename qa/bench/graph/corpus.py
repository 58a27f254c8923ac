"""A graph of any size, the same for everybody: words by Zipf's law, three relations each."""

from __future__ import annotations

import itertools
import random
import string
from typing import Any, NamedTuple

__all__ = ["COMMON", "MIDDLE", "RARE", "Graph", "make_graph", "new_entity"]

# In one entity of a thousand, in one of ten, in all.
RARE, MIDDLE, COMMON = "needleword", "midwayword", "everywhere"
_WORDS = 20_000
_PER_OBSERVATION = 12
_KINDS = ("person", "service", "project", "decision", "place", "document", "event")
_SEED = 7


class Graph(NamedTuple):
    """Entities and relations as both servers take them."""

    entities: list[dict[str, Any]]
    relations: list[dict[str, Any]]


def make_graph(size: int) -> Graph:
    """Two observations of twelve words for each entity, and three relations to others."""
    draw = random.Random(_SEED)
    words = [
        "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 10))) for _ in range(_WORDS)
    ]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))
    entities = []
    for number in range(size):
        texts = [draw.choices(words, cum_weights=weights, k=_PER_OBSERVATION) for _ in range(2)]
        texts[0].insert(3, COMMON)
        if number % 1000 == 100:
            texts[0].insert(5, RARE)
        if number % 10 == 5:
            texts[1].insert(5, MIDDLE)
        entities.append(
            {
                "name": f"Node{number}",
                "entityType": _KINDS[number % len(_KINDS)],
                "observations": [" ".join(text) for text in texts],
            }
        )
    relations = [
        {"from": f"Node{number}", "to": f"Node{draw.randrange(size)}", "relationType": kind}
        for number in range(size)
        for kind in ("knows", "uses", "part_of")
    ]
    return Graph(entities, relations)


def new_entity(number: int) -> dict[str, Any]:
    """One that is not in any graph yet."""
    return {
        "name": f"Fresh{number}",
        "entityType": "person",
        "observations": [f"{COMMON} fresh words of number {number}", "another thing to remember"],
    }
