"""Parse docstrings in Google, NumPy and Sphinx style; anything else is plain text.

The result has the text before the first section, a text for each parameter, and the description
of the returned value. A style is recognised by its section headings or fields, so that a sentence
with a colon stays a sentence.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["Description", "parse_docstring"]

PARAMETER_SECTIONS = {
    "args",
    "arguments",
    "keyword args",
    "keyword arguments",
    "other parameters",
    "parameters",
    "params",
    "attributes",
}
RETURN_SECTIONS = {"returns", "return", "yields", "yield"}
OTHER_SECTIONS = {
    "example",
    "examples",
    "note",
    "notes",
    "raises",
    "references",
    "see also",
    "todo",
    "warning",
    "warnings",
    "warns",
}
# Only these end the summary: a note or an example before them belongs to it.
ENDING_SECTIONS = PARAMETER_SECTIONS | RETURN_SECTIONS | {"raises"}
ALL_SECTIONS = ENDING_SECTIONS | OTHER_SECTIONS

GOOGLE_ENTRY = re.compile(r"(?P<name>\*{0,2}\w+)\s*(?:\((?P<type>.*?)\))?:(?:\s+|$)(?P<text>.*)")
GOOGLE_RETURN_TYPE = re.compile(
    r"[\w.]+(?:\[[^:]*\])?(?:\s*\|\s*[\w.\[\], ]+)*:\s+(?P<text>.*)", re.S
)
NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
SPHINX_FIELD = re.compile(r":(?P<kind>\w+)(?P<words>[^:]*):\s*(?P<text>.*)")
SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}


@dataclass(frozen=True, slots=True)
class Description:
    """A parsed docstring."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str | None = None


def parse_docstring(text: str | None) -> Description:
    """Return summary, parameters and returned value of a docstring."""
    if not text:
        return Description()
    lines = inspect.cleandoc(text).splitlines()
    for parse in (_parse_numpy, _parse_google, _parse_sphinx):
        found = parse(lines)
        if found is not None:
            return found
    return Description(_joined(lines))


def _parse_google(lines: list[str]) -> Description | None:
    starts = [
        index
        for index, line in enumerate(lines)
        if line.endswith(":") and line[:-1].lower() in ALL_SECTIONS
    ]
    ending = [index for index in starts if lines[index][:-1].lower() in ENDING_SECTIONS]
    if not ending:
        return None
    parameters: dict[str, str] = {}
    returns = None
    for start in starts:
        title = lines[start][:-1].lower()
        body = _indented_block(lines[start + 1 :])
        if title in PARAMETER_SECTIONS:
            parameters.update(_google_entries(body))
        elif title in RETURN_SECTIONS:
            whole = _joined(body)
            typed = GOOGLE_RETURN_TYPE.fullmatch(whole)
            returns = typed["text"] if typed else whole
    return Description(_joined(lines[: ending[0]]), parameters, returns or None)


def _google_entries(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        entry = None if line.startswith(" ") else GOOGLE_ENTRY.match(line)
        if entry:
            current = found.setdefault(entry["name"].lstrip("*"), [entry["text"]])
        elif current is not None:
            current.append(line.strip())
    return {name: _paragraph(texts) for name, texts in found.items()}


def _parse_numpy(lines: list[str]) -> Description | None:
    starts = [
        index
        for index, line in enumerate(lines[:-1])
        if line.lower() in ALL_SECTIONS and re.fullmatch(r"-{3,}", lines[index + 1])
    ]
    ending = [index for index in starts if lines[index].lower() in ENDING_SECTIONS]
    if not ending:
        return None
    parameters: dict[str, str] = {}
    returns = None
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        title = lines[start].lower()
        body = lines[start + 2 : end]
        if title in PARAMETER_SECTIONS:
            parameters.update(_numpy_entries(body))
        elif title in RETURN_SECTIONS:
            # The first line names the type; the text is indented below it.
            indented = [line for line in body if line.startswith(" ")]
            returns = _paragraph(indented or body)
    return Description(_joined(lines[: ending[0]]), parameters, returns or None)


def _numpy_entries(body: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in body:
        entry = None if line.startswith(" ") else NUMPY_ENTRY.match(line)
        if entry:
            current = []
            for name in entry["names"].split(","):
                found[name.strip().lstrip("*")] = current
        elif current is not None:
            current.append(line)
    return {name: _paragraph(texts) for name, texts in found.items()}


def _parse_sphinx(lines: list[str]) -> Description | None:
    parameters: dict[str, str] = {}
    returns = None
    first = None
    for index, line in enumerate(lines):
        match = SPHINX_FIELD.match(line)
        if match is None:
            continue
        first = index if first is None else first
        text = _paragraph([match["text"], *_continuation(lines[index + 1 :])])
        if match["kind"] in SPHINX_PARAMETERS and match["words"].split():
            # `:param int count: text` names the type first.
            parameters[match["words"].split()[-1].lstrip("*")] = text
        elif match["kind"] in {"return", "returns"}:
            returns = text
    if first is None:
        return None
    return Description(_joined(lines[:first]), parameters, returns)


def _continuation(lines: list[str]) -> list[str]:
    taken = []
    for line in lines:
        if not line.startswith(" "):
            break
        taken.append(line)
    return taken


def _indented_block(lines: list[str]) -> list[str]:
    """The lines that belong to a Google section: indented or empty."""
    block = []
    for line in lines:
        if line and not line.startswith(" "):
            break
        block.append(line)
    return inspect.cleandoc("\n".join(block)).splitlines()


def _paragraph(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip()
