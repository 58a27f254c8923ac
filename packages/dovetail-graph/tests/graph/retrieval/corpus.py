"""The memories and questions of memories.txt, and how they are divided; and distractors.txt.

Every third entity's questions are for tuning: numbers are chosen with them alone. The others are
reported. The distractors were added after first figures of the reported ones had been seen, in
which hybrid and meaning tied in recall@5; docs/graph.md says so beside the table. All entities are
in the store for all questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["KINDS", "Memory", "Question", "questions", "read_distractors", "read_memories"]

KINDS = {"k": "its own words", "n": "names and numbers", "p": "a paraphrase"}
_TUNING = 3


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    kind: str
    # The name of the entity that answers it.
    answer: str


@dataclass(frozen=True, slots=True)
class Memory:
    name: str
    type: str
    observations: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def _lines(name: str) -> Iterator[str]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def read_distractors() -> list[Memory]:
    """Memories that answer no question."""
    rows = (line.split(" | ") for line in _lines("distractors.txt"))
    return [Memory(name, kind, observations) for name, kind, *observations in rows]


def read_memories() -> list[Memory]:
    found: list[Memory] = []
    for line in _lines("memories.txt"):
        mark, _, rest = line.partition(" ")
        if mark == "-":
            found[-1].observations.append(rest)
        elif mark in KINDS:
            found[-1].questions.append(Question(rest, mark, found[-1].name))
        else:
            name, _, kind = line.partition(" | ")
            found.append(Memory(name, kind))
    return found


def questions(memories: list[Memory], *, for_tuning: bool) -> Iterator[Question]:
    for number, memory in enumerate(memories):
        if (number % _TUNING == 0) == for_tuning:
            yield from memory.questions
