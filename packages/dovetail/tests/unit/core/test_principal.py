"""Who calls: an id, scopes, claims; and what they are bound by."""

from __future__ import annotations

import pytest

from dovetail.core.principal import Principal, owner_of, to_principal
from dovetail.errors import UsageError


def test_a_principal_has_an_id_scopes_and_claims_that_stay() -> None:
    claims = {"email": "a@example.com"}
    anna = Principal("anna", ["read", "read"], claims)
    claims["email"] = "changed"
    assert (anna.id, anna.claims["email"]) == ("anna", "a@example.com")
    assert anna.scopes == {"read"}
    assert not anna.trusted
    with pytest.raises(TypeError):
        anna.claims["email"] = "x"  # type: ignore[index]


def test_claims_are_not_shown_by_accident() -> None:
    assert repr(Principal("anna", ["b", "a"], {"phone": "1"})) == (
        "Principal('anna', scopes=['a', 'b'])"
    )


def test_principals_are_the_same_by_id_and_rights() -> None:
    anna = Principal("anna", ["a"])
    assert anna == Principal("anna", ["a"], {"x": 1})
    assert hash(anna) == hash(Principal("anna"))
    assert anna != Principal("anna")
    assert anna != Principal("anna", ["a"], trusted=True)
    assert anna != "anna"


@pytest.mark.parametrize(("id", "scopes"), [("", ()), ("anna", "read")])
def test_what_is_none_is_refused(id: str, scopes: str) -> None:
    with pytest.raises(UsageError):
        Principal(id, scopes)


def test_things_are_bound_to_the_id_alone() -> None:
    assert owner_of(Principal("anna", ["a"])) == owner_of(Principal("anna")) == "anna"
    assert owner_of(None) is None


def test_an_id_alone_has_no_scopes() -> None:
    assert to_principal("anna") == Principal("anna")
    assert to_principal(None) is None
    anna = Principal("anna", ["a"])
    assert to_principal(anna) is anna
