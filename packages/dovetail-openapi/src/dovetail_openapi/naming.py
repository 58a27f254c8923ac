"""Names and descriptions of tools and arguments, short enough for every client and model."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection

__all__ = ["argument_name", "describe_operation", "shorten", "tool_name", "unique"]

# Model providers accept fewer characters and shorter names than MCP does.
MAX_LENGTH = 64
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_NOT_IN_VARIABLE = re.compile(r"[^A-Za-z0-9_]+")
_DIGEST = 7


def tool_name(operation_id: str, method: str, path: str) -> str:
    """Return the name of the tool of an operation."""
    own = _OTHER.sub("_", operation_id).strip("_-")
    return _cut(own or _OTHER.sub("_", f"{method}{path}").strip("_"))


def argument_name(name: str) -> str:
    """Return the name of an argument: letters, digits and inner underscores, a letter first."""
    own = _NOT_IN_VARIABLE.sub("_", name).strip("_") or "value"
    return _cut(f"arg_{own}" if own[0].isdigit() else own)


def unique(name: str, taken: Collection[str]) -> str:
    """Return the name, with a number behind it if it is taken."""
    number = 2
    found = name
    while found in taken:
        end = f"_{number}"
        found = name[: MAX_LENGTH - len(end)] + end
        number += 1
    return found


def _cut(name: str) -> str:
    if len(name) <= MAX_LENGTH:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[: _DIGEST - 1]
    return f"{name[: MAX_LENGTH - _DIGEST]}_{digest}"


# -- descriptions ----------------------------------------------------------------------------------

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
