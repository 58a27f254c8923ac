from __future__ import annotations

from dovetail_check.completing import completable, variables_of
from dovetail_check.probe_client import Catalogue


def test_variables_are_named_without_operators_and_modifiers() -> None:
    assert variables_of("x://{a}/{+b*}{?c,d:3}") == ["a", "b", "c", "d"]
    assert variables_of("x://plain") == []


def test_arguments_and_variables_can_be_completed() -> None:
    catalogue = Catalogue(
        prompts=[{"name": "review", "arguments": [{"name": "code"}]}],
        resource_templates=[{"uriTemplate": "note://{id}"}],
    )
    assert [params["argument"]["name"] for params in completable(catalogue)] == ["code", "id"]


def test_strange_offers_offer_nothing() -> None:
    catalogue = Catalogue(
        prompts=[{"name": 5, "arguments": [{"name": "x"}]}, {"name": "a", "arguments": "b"}, {}],
        resource_templates=[{"uriTemplate": 5}, {}],
    )
    assert completable(catalogue) == []
