"""Hybrid search finds more than words or meaning alone, on questions not used for tuning.

Uses half of the memories and their questions; RETRIEVAL=full uses all.
"""

from __future__ import annotations

import os

import pytest

from tests.graph.retrieval.corpus import (
    KINDS,
    questions,
    read_distractors,
    read_memories,
)
from tests.graph.retrieval.measure import WAYS, evaluate, serving


def test_there_are_enough_questions_of_every_kind_and_none_twice() -> None:
    memories = read_memories()
    reported = list(questions(memories, for_tuning=False))
    tuning = list(questions(memories, for_tuning=True))
    assert len(reported) >= 200 and len(tuning) >= 100
    assert {one.kind for one in reported} == KINDS.keys()
    texts = [one.text for one in (*reported, *tuning)]
    assert len(set(texts)) == len(texts)
    names = [one.name for one in (*memories, *read_distractors())]
    assert len(set(names)) == len(names)


@pytest.mark.slow
def test_hybrid_beats_words_and_meaning() -> None:
    part = 1 if os.environ.get("RETRIEVAL") == "full" else 2
    memories, others = read_memories(), read_distractors()[::part]
    kept = memories[::part]
    names = {one.name for one in kept}
    asked = [one for one in questions(memories, for_tuning=False) if one.answer in names]
    with serving([*kept, *others]) as served:
        found = {name: evaluate(served, asked, way) for name, way in WAYS.items()}
    hybrid = found.pop("hybrid")
    for name, other in found.items():
        assert hybrid.recall > other.recall and hybrid.mrr > other.mrr, name
    assert hybrid.recall >= 0.88 and hybrid.mrr >= 0.74
