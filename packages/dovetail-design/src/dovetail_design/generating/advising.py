"""The rule-based assistant.

A message is split into instructions; each is matched against the rules. Matches become operations
of edit_design. The reply lists instructions that were not understood, with examples that would be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from dovetail_design.generating.advice_rules import RULES
from dovetail_design.generating.advice_steps import Step
from dovetail_design.generating.targets import find_target
from dovetail_design.model import Design

__all__ = ["Advice", "advise", "can_do"]

_SPLIT = re.compile(
    r"\s*(?:;|\.\s|\n|,?\s+(?:and then|then)\s+|,?\s+and\s+(?=(?:make|change|set|move|"
    r"align|centre|center|add|delete|remove|rotate|hide|show|bring|send|use|fix|put)\b))\s*",
    re.IGNORECASE,
)
_PRONOUNS = frozenset({"it", "this", "that", "them", "these", "those"})
_HELP = re.compile(r"\b(?:help|what can you|how do i|what do you)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Advice:
    """Operations and a reply."""

    reply: str
    # In the format of edit_design.
    operations: list[dict[str, Any]] = field(default_factory=list)
    # A new background of the canvas, which update_design sets.
    background: str | None = None
    is_understood: bool = True


def can_do() -> list[str]:
    """Return examples of instructions."""
    return [rule.example for rule in RULES]


def advise(message: str, design: Design) -> Advice:
    """Return operations and a reply; nothing is applied."""
    instructions = [
        part.strip(" .!") for part in _SPLIT.split(message) if part and part.strip(" .!")
    ]
    done: list[Step] = []
    unclear: list[str] = []
    for instruction in instructions:
        understood = _understand(instruction, design)
        if isinstance(understood, Step):
            done.append(understood)
        else:
            unclear.append(understood)
    if not done and (not instructions or _HELP.search(message)):
        return Advice(f"I follow fixed rules. {_examples()}", is_understood=False)
    reply = " ".join([*(step.reply for step in done), *unclear])
    if unclear:
        reply += f" {_examples()}"
    return Advice(
        reply,
        [operation for step in done for operation in step.operations],
        next((step.background for step in reversed(done) if step.background), None),
        is_understood=not unclear,
    )


def _understand(instruction: str, design: Design) -> Step | str:
    """Return the step for an instruction, or why it is unclear."""
    missing = None
    for rule in RULES:
        found = rule.pattern.search(instruction)
        if found is None:
            continue
        step = rule.handler(found, design)
        if step is not None:
            return step
        words = found.groupdict().get("target")
        if words and missing is None and find_target(words, design) is None:
            missing = words.strip()
    if missing is not None and missing.lower() in _PRONOUNS:
        return f"I do not know what {missing!r} is; name the element."
    if missing is not None:
        return f"I found no {_without_article(missing)[:60]!r} on this design."
    return f"I did not understand {instruction[:120]!r}."


def _without_article(words: str) -> str:
    return re.sub(r"^(?:the|an?|my|this|that)\s+", "", words, flags=re.IGNORECASE)


def _examples() -> str:
    return "I understand, for example: " + "; ".join(f'"{one}"' for one in can_do()) + "."
