"""What a caller may use, and what it sees."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from dovetail import Server
from dovetail.core.call import Call
from dovetail.core.principal import (
    NO_REQUIREMENTS,
    Permission,
    Principal,
    Requirements,
    Visibility,
    has_scopes,
    may_use,
    read_scopes,
    visibility_of,
)
from dovetail.errors import InsufficientScopeError, UsageError
from tests.unit.fakes import make_call

ENGINE = Server("s").engine
READ, WRITE = (
    Requirements(frozenset({"read"})),
    Requirements(frozenset({"read", "write"}), writes=True),
)
ANNA = Principal("anna", {"read", "other"})
ROOT = Principal("root", trusted=True)


class Things(NamedTuple):
    scopes: frozenset[str] = frozenset({"read", "write"})
    writes: bool = True


def call_by(principal: Principal | None, permission: Permission | None = None) -> Call:
    call = make_call()
    call.services = ENGINE._replace(permission=permission)
    call.principal = principal
    return call


@pytest.mark.parametrize(
    ("principal", "requirements", "allowed"),
    [
        (None, NO_REQUIREMENTS, True),
        (None, READ, False),
        (ANNA, READ, True),
        (ANNA, WRITE, False),
        (ROOT, WRITE, True),
    ],
)
def test_scopes_are_asked_for_with_a_guard_and_without(
    principal: Principal | None, requirements: Requirements, allowed: bool
) -> None:
    assert may_use(call_by(principal), requirements) is allowed
    assert may_use(call_by(principal, Permission()), requirements) is allowed


def test_where_a_server_only_reads_nobody_writes() -> None:
    permission = Permission(read_only=True)
    assert not may_use(call_by(ROOT, permission), WRITE)
    assert may_use(call_by(ROOT, permission), READ)


def test_what_can_be_asked_for_is_named_in_full() -> None:
    permission = Permission(step_up=frozenset({"write"}), challenge=lambda scopes: str(len(scopes)))
    with pytest.raises(InsufficientScopeError) as caught:
        may_use(call_by(ANNA, permission), WRITE)
    assert caught.value.data == {"scopes": ["read", "write"]}
    assert caught.value.challenge == "2"
    # But not what cannot be had by asking.
    assert not may_use(call_by(Principal("b"), permission), WRITE)


@pytest.mark.parametrize(
    ("principal", "permission", "visibility"),
    [
        (None, None, Visibility(False, frozenset())),
        (ANNA, None, Visibility(False, frozenset({"read"}))),
        (ROOT, None, Visibility(False, None)),
        (ROOT, Permission(read_only=True), Visibility(True, None)),
        (
            ANNA,
            Permission(step_up=frozenset({"write"})),
            Visibility(False, frozenset({"read", "write"})),
        ),
    ],
)
def test_only_scopes_that_matter_make_a_difference(
    principal: Principal | None, permission: Permission | None, visibility: Visibility
) -> None:
    assert visibility_of(call_by(principal, permission), Things()) == visibility


def test_where_nothing_is_restricted_everything_is_seen() -> None:
    free = Things(frozenset())
    assert visibility_of(call_by(None), free) is None
    assert visibility_of(call_by(None, Permission()), free) is None
    assert visibility_of(call_by(None, Permission(read_only=True)), free) == Visibility(True, None)
    assert (
        visibility_of(call_by(None, Permission(read_only=True)), Things(frozenset(), False)) is None
    )


def test_a_sight_shows_what_can_be_used() -> None:
    visibility = Visibility(True, frozenset({"read"}))
    assert visibility.shows(NO_REQUIREMENTS)
    assert visibility.shows(READ)
    assert not visibility.shows(Requirements(writes=True))
    assert not Visibility(False, frozenset({"read"})).shows(WRITE)
    assert Visibility(False, None).shows(WRITE)


def test_scopes_of_an_author_are_plain_words() -> None:
    assert read_scopes(["a:b", "c"], "t") == {"a:b", "c"}


@pytest.mark.parametrize("given", ["read", ["a b"], ['a"'], [""], ["a\\b"], ["ä"]])
def test_what_can_be_no_scope_is_refused(given: list[str]) -> None:
    with pytest.raises(UsageError, match="my tool"):
        read_scopes(given, "my tool")


def test_what_a_caller_could_get_is_not_what_it_has() -> None:
    step_up = Permission(step_up=frozenset({"read"}))
    assert has_scopes(call_by(ANNA), READ)
    assert has_scopes(call_by(ROOT), WRITE)
    assert has_scopes(call_by(None), NO_REQUIREMENTS)
    assert not has_scopes(call_by(None, step_up), READ)
    assert not has_scopes(call_by(ANNA, step_up), WRITE)
