"""Next steps: what they name, and which of them fit a call.

A step is a sentence. It names tools as they are, and parameters in backticks, with a value if need
be: "wait_for with `networkIdle` waits longer". The parameters are those of the tools that the step
names; without a tool they are those of the call that failed. Steps name only tools that are listed
in every tool set.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

__all__ = ["fitting_steps", "parameters_in", "tools_in"]

_PARAMETER = re.compile(r"`(\w+)(?:=[^`]*)?`")
_TOOL = re.compile(r"(?<![`\w-])[a-z]+(?:_[a-z]+)+(?![`\w])")


def tools_in(step: str) -> list[str]:
    """Return the names of tools in a step."""
    return _TOOL.findall(step)


def parameters_in(step: str) -> list[str]:
    """Return the names of parameters in a step."""
    return _PARAMETER.findall(step)


def fitting_steps(steps: Iterable[str], parameters: Collection[str]) -> list[str]:
    """Return the steps that can be taken by a caller of the tool with these parameters."""
    return [step for step in steps if tools_in(step) or set(parameters_in(step)) <= set(parameters)]
