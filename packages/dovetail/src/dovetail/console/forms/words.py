"""Types, limits and variants in words."""

from __future__ import annotations

import re
from typing import Any

from dovetail.console.forms.form_schema import FormSchema, per_schema
from dovetail.console.forms.json_text import json_of, listed
from dovetail.console.forms.kinds import choices_of, kind_of, variant_schemas
from dovetail.console.forms.merging import resolve
from dovetail.console.forms.simple_schema import Schema

__all__ = ["describe_limits", "describe_type", "label_of", "labels_of", "limit_text"]

_MAX_DEPTH = 2
_CHOICES = 6
# Generated schemas state the bounds of 64-bit numbers, which tell a person nothing.
_HUGE = re.compile(r"\d{16}")

# keyword: (words, what is counted)
_LIMITS = {
    "minimum": ("at least", ""),
    "exclusiveMinimum": ("more than", ""),
    "maximum": ("at most", ""),
    "exclusiveMaximum": ("less than", ""),
    "multipleOf": ("a multiple of", ""),
    "minLength": ("at least", "character"),
    "maxLength": ("at most", "character"),
    "minItems": ("at least", "item"),
    "maxItems": ("at most", "item"),
    "minProperties": ("at least", "member"),
    "maxProperties": ("at most", "member"),
}


def limit_text(keyword: str, limit: Any) -> str:
    """A limit in words, such as "at least 3 characters"; empty if the keyword is not a limit."""
    words, unit = _LIMITS.get(keyword, ("", ""))
    if not words:
        return ""
    return f"{words} {json_of(limit)}" + (f" {unit}{'' if limit == 1 else 's'}" if unit else "")


def describe_limits(schema: Schema) -> str:
    """The limits in words ("at least 1, at most 10"), or ""."""
    found = [limit_text(keyword, schema[keyword]) for keyword in _LIMITS if schema.get(keyword)]
    found += [f"matches {schema['pattern']}"] if "pattern" in schema else []
    return ", ".join(text for text in found if not _HUGE.search(text))


def describe_type(form: FormSchema, schema: Schema | bool, depth: int = 0) -> str:
    """The type in words: "string, email", "array of integer", "one of a, b"."""
    if depth > _MAX_DEPTH:
        return "…"
    resolved = resolve(form, schema)
    key = ("type", id(resolved), depth)
    if key not in form.results:
        form.results[key] = (resolved, _describe(form, resolved, depth))
    return str(form.results[key][1])


def _describe(form: FormSchema, resolved: Schema, depth: int) -> str:
    kind = kind_of(form, resolved)
    if kind == "choice":
        labels = [choice.label for choice in choices_of(form, resolved)]
        return (labels[0] or '""') if len(labels) == 1 else f"one of {listed(labels, _CHOICES)}"
    if kind == "union":
        variants = variant_schemas(form, resolved)
        words = (describe_type(form, variant.schema, depth + 1) for variant in variants)
        return " or ".join(dict.fromkeys(words))
    if kind == "array" and "prefixItems" in resolved:
        parts = (describe_type(form, part, depth + 1) for part in resolved["prefixItems"])
        return f"array of [{', '.join(parts)}]"
    inner = {"array": "items", "object": "additionalProperties"}.get(kind)
    if inner and isinstance(resolved.get(inner), dict) and "properties" not in resolved:
        of = describe_type(form, resolved[inner], depth + 1)
        return f"{kind} of ({of})" if " or " in of else f"{kind} of {of}"
    if kind == "string" and "format" in resolved:
        return f"string, {resolved['format']}"
    return "any JSON" if kind == "any" else kind


@per_schema
def labels_of(form: FormSchema, schema: Schema) -> list[str]:
    """A different label for each variant of a resolved schema of kind "union"."""
    labels = [label_of(form, variant.branch) for variant in variant_schemas(form, schema)]
    return [
        label if labels.count(label) == 1 else f"{label} ({number})"
        for number, label in enumerate(labels, 1)
    ]


def label_of(form: FormSchema, branch: Any) -> str:
    """The name of a branch: its title, a property that only it has, or its type."""
    if isinstance(branch, str):
        return branch
    resolved = resolve(form, branch)
    if "title" in resolved:
        return str(resolved["title"])
    for name, part in resolved.get("properties", {}).items():
        only = choices_of(form, resolve(form, part))
        if len(only) == 1:
            return f"{name}: {only[0].label}"
    if isinstance(branch, dict) and "refName" in branch:
        return str(branch["refName"])
    if resolved.get("required") and "type" not in resolved:
        return f"with {', '.join(resolved['required'])}"
    return describe_type(form, branch)
