"""YAML that is hostile is refused before it is loaded."""

from __future__ import annotations

import pytest

from dovetail.errors import UsageError
from dovetail_openapi.document import read_yaml

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


def test_keys_and_dates_are_text() -> None:
    text = "responses:\n  200: {since: 2024-01-02, on: yes}\n"
    assert read_yaml(text) == {"responses": {"200": {"since": "2024-01-02", "on": True}}}


def test_an_alias_and_a_merge_key_are_resolved() -> None:
    text = "a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\n"
    assert read_yaml(text) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "more than 200 levels"),
        (BOMB, "more than 5,000,000 values"),
        ("a: &a\n  b: *a\n", r"alias \*a contains itself \(line 2\)"),
        ("a: [1\nb: }", "neither JSON nor valid YAML"),
        ("a: !!python/object/apply:os.getcwd []", "neither JSON nor valid YAML"),
    ],
)
def test_hostile_text_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        read_yaml(text)
