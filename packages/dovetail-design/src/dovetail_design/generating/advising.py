"""Answers to what people say to the studio's assistant, by rules.

A message is cut into wishes; each is tried against a table of patterns. What is understood becomes
operations as edit_design takes them; what is not is said, together with what would be understood.
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
    """What to do and what to say."""

    reply: str
    # As edit_design takes them.
    operations: list[dict[str, Any]] = field(default_factory=list)
    # A new background of the canvas, which is no element; update_design sets it.
    background: str | None = None
    is_understood: bool = True


def can_do() -> list[str]:
    """Examples of what is understood."""
    return [rule.example for rule in RULES]


def advise(message: str, design: Design) -> Advice:
    """Suggested operations and a reply; nothing is applied here."""
    wishes = [part.strip(" .!") for part in _SPLIT.split(message) if part and part.strip(" .!")]
    done: list[Step] = []
    unclear: list[str] = []
    for wish in wishes:
        understood = _understand(wish, design)
        if isinstance(understood, Step):
            done.append(understood)
        else:
            unclear.append(understood)
    if not done and (not wishes or _HELP.search(message)):
        return Advice(f"I work by rules. {_examples()}", is_understood=False)
    reply = " ".join([*(step.reply for step in done), *unclear])
    if unclear:
        reply += f" {_examples()}"
    return Advice(
        reply,
        [operation for step in done for operation in step.operations],
        next((step.background for step in reversed(done) if step.background), None),
        is_understood=not unclear,
    )


def _understand(wish: str, design: Design) -> Step | str:
    """What to do, or why that is unclear."""
    missing = None
    for rule in RULES:
        found = rule.pattern.search(wish)
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
        return f"I see no {_without_article(missing)[:60]!r} on this design."
    return f"I did not understand {wish[:120]!r}."


def _without_article(words: str) -> str:
    return re.sub(r"^(?:the|an?|my|this|that)\s+", "", words, flags=re.IGNORECASE)


def _examples() -> str:
    return "I understand, for example: " + "; ".join(f'"{one}"' for one in can_do()) + "."
