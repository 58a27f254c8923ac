"""Options: a limit that cannot be is refused when it is set, not when it is reached."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from dovetail.core.options import Options, read_tags
from dovetail.errors import UsageError


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"concurrency": 0}, "Options.concurrency must be at least 1, got 0"),
        ({"worker_threads": 0}, "Options.worker_threads must be at least 1, got 0"),
        ({"max_message_bytes": 0}, "Options.max_message_bytes must be at least 1, got 0"),
        ({"max_result_bytes": -5}, "Options.max_result_bytes must be at least 1, got -5"),
        ({"page_size": 0}, "Options.page_size must be at least 1 or None, got 0"),
        ({"timeout": 0}, "Options.timeout must be above 0 or None, got 0"),
        ({"idle_timeout": -1.5}, "Options.idle_timeout must be above 0 or None, got -1.5"),
        ({"ask_timeout": 0.0}, "Options.ask_timeout must be above 0 or None, got 0.0"),
        ({"state_lifetime": 0}, "Options.state_lifetime must be a number of seconds, got 0"),
        (
            {"state_lifetime": float("inf")},
            "Options.state_lifetime must be a number of seconds, got inf",
        ),
        (
            {"state_lifetime": float("nan")},
            "Options.state_lifetime must be a number of seconds, got nan",
        ),
        ({"queue": -1}, "Options.queue, grace and list_ttl_ms cannot be negative"),
        ({"grace": -0.1}, "Options.queue, grace and list_ttl_ms cannot be negative"),
        ({"list_ttl_ms": -1}, "Options.queue, grace and list_ttl_ms cannot be negative"),
        ({"list_scope": "ours"}, "Options.list_scope must be 'public' or 'private', got 'ours'"),
        (
            {"log_level": "loud"},
            "Options.log_level must be one of debug, info, notice, warning, error, critical, "
            "alert, emergency, got 'loud'",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Options(**wrong)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "right",
    [
        {},
        {"concurrency": 1, "worker_threads": 1, "max_message_bytes": 1, "max_result_bytes": 1},
        {"page_size": 1},
        {"timeout": None, "idle_timeout": None, "ask_timeout": None},
        {"timeout": 0.001, "idle_timeout": 0.001, "ask_timeout": 0.001, "state_lifetime": 0.001},
        {"queue": 0, "grace": 0, "list_ttl_ms": 0},
        {"log_level": "emergency", "list_scope": "private"},
    ],
)
def test_the_edges_of_what_can_be_are_taken(right: dict[str, Any]) -> None:
    options = Options(**right)
    assert {name: getattr(options, name) for name in right} == right


def test_nothing_is_shown_or_kept_for_ever_unless_the_operator_says_so() -> None:
    options = Options()
    assert not options.expose_tracebacks
    assert options.list_ttl_ms == 0
    assert options.state_keys == ()
    assert options.timeout is not None
    assert options.ask_timeout is not None


def test_options_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Options().queue = 3  # type: ignore[misc]


def test_tags_are_a_set_of_strings() -> None:
    assert read_tags(["a", "b", "a"], "Tool 't'") == {"a", "b"}
    with pytest.raises(UsageError, match=r"Tool 't': tags is a set of strings, {'a'} for one"):
        read_tags("a", "Tool 't'")
