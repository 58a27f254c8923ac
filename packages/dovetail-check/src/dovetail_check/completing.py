"""Completion requests for prompt arguments and resource template variables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dovetail_check.probe_client import Catalogue

__all__ = ["completable", "variables_of"]

# RFC 6570: an expression, without its operator and modifiers.
_EXPRESSION = re.compile(r"\{[+#./;?&]?([^{}]+)\}")


def variables_of(template: str) -> list[str]:
    """Return the variable names of a URI template."""
    return [
        re.sub(r"(\*|:\d+)$", "", name)
        for expression in _EXPRESSION.findall(template)
        for name in expression.split(",")
    ]


def completable(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the params of completion/complete for every argument, with an empty value."""
    return [
        {"ref": ref, "argument": {"name": name, "value": ""}}
        for ref, name in [*_arguments(catalogue), *_variables(catalogue)]
    ]


def _arguments(catalogue: Catalogue) -> Iterator[tuple[dict[str, Any], str]]:
    for prompt in catalogue.prompts:
        arguments = prompt.get("arguments")
        for argument in arguments if isinstance(arguments, list) else ():
            name = argument.get("name") if isinstance(argument, dict) else None
            if isinstance(name, str) and isinstance(prompt.get("name"), str):
                yield {"type": "ref/prompt", "name": prompt["name"]}, name


def _variables(catalogue: Catalogue) -> Iterator[tuple[dict[str, Any], str]]:
    for item in catalogue.resource_templates:
        template = item.get("uriTemplate")
        for name in variables_of(template) if isinstance(template, str) else ():
            yield {"type": "ref/resource", "uri": template}, name
