"""Shorten the texts of a document to what a model needs to choose and call a tool."""

from __future__ import annotations

import re

__all__ = ["describe_operation", "shorten"]

# Characters; long texts are paid for in every conversation that lists the tools.
OPERATION = 400
PARAMETER = 160

_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TAG = re.compile(r"<[/!a-zA-Z][^<>]*>")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s[^()]*)?\)")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")
_HEADING = re.compile(r"^#{1,6} .*$|^\s*[-=]{3,}\s*$|^>\s?(?=\S)", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


def shorten(text: str, limit: int = PARAMETER) -> str:
    """Return the beginning of a Markdown text in one line, up to the end of a sentence."""
    # A limit on the input too: expressions over megabytes take their time.
    text = _CODE_BLOCK.sub(" ", text[: limit * 20])
    for pattern, kept in ((_TAG, " "), (_LINK, r"\1"), (_EMPHASIS, r"\2"), (_HEADING, "")):
        text = pattern.sub(kept, text)
    text = text.strip().partition("\n\n")[0]
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, limit)]
    if ends and ends[-1] > limit // 4:
        return text[: ends[-1]]
    return text[: limit - 1].rpartition(" ")[0].rstrip(",;:") + "…"


def describe_operation(summary: str, description: str, fallback: str) -> str:
    """Return the description of a tool: the summary, and the description if it says more."""
    head = shorten(summary, OPERATION)
    rest = shorten(description, OPERATION)
    if not head or rest.lower().startswith(head.lower().rstrip(".")):
        return rest or head or fallback
    if not rest:
        return head
    return f"{head.rstrip('.')}. {rest}"
