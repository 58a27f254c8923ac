"""Indexes of lists: fields, changes, exact names."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail.compose.search.catalog import Catalog, Entry, document_of, first_sentence
from dovetail.compose.search.full_list import FullList
from dovetail.compose.search.ranking import Ranking
from tests.unit.talk import run


def list_of(*names: str) -> FullList:
    tools = [{"name": name, "inputSchema": {}} for name in names]
    return FullList((json.dumps({"tools": tools}).encode(),))


def find(catalog: Catalog, query: str, listed: FullList) -> list[str]:
    return [tool["name"] for tool in run(catalog.find(query, 5, listed))]


def test_a_document_has_the_terms_of_each_part() -> None:
    schema = {"properties": {"userName": {"description": "Who pays."}, "flag": True}}
    document = document_of(
        {
            "name": "send_invoice",
            "description": "Bill a customer. By mail.",
            "inputSchema": schema,
        }
    )
    assert document["name"] == ["send", "invoic"]
    assert document["summary"] == ["bil", "customer"]
    assert document["details"] == ["mail"]
    assert document["parameters"] == ["user", "nam", "usernam", "flag"]
    assert document["hints"] == ["pay"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("One\n\nTwo. Three", "One"),
        ("v1.2 is here", "v1.2 is here"),
        ("", ""),
    ],
)
def test_the_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


def test_each_list_is_searched_by_itself() -> None:
    catalog = Catalog(frozenset())
    assert find(catalog, "mail", list_of("read_mail")) == ["read_mail"]
    both = list_of("read_mail", "send_mail")
    assert set(find(catalog, "mail", both)) == {"read_mail", "send_mail"}
    assert find(catalog, "mail", list_of("read_mail")) == ["read_mail"]


def test_a_changed_tool_is_found_by_its_new_words() -> None:
    catalog = Catalog(frozenset())
    for word in ("invoice", "recipe"):
        tool: Entry = {"name": "t", "description": word, "inputSchema": {}}
        listed = FullList((json.dumps({"tools": [tool]}).encode(),))
        assert find(catalog, word, listed) == ["t"]


def test_few_indexes_are_kept() -> None:
    catalog = Catalog(frozenset())
    for number in range(30):
        assert find(catalog, "mail", list_of("mail", f"t{number}")) == ["mail"]
    assert len(catalog._indexes) <= 8


def test_searches_at_the_same_time_build_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []

    def count(*given: Any) -> Ranking:
        built.append(1)
        return Ranking(*given)

    monkeypatch.setattr("dovetail.compose.search.catalog.Ranking", count)
    catalog = Catalog(frozenset())

    async def scenario() -> None:
        searches = [catalog.find("mail", 5, list_of("mail")) for _ in range(20)]
        assert {len(found) for found in await asyncio.gather(*searches)} == {1}

    run(scenario())
    assert len(built) == 1


def test_the_exact_name_comes_first() -> None:
    listed = list_of("mail", "mail_mail_mail", "send-mail")
    assert find(Catalog(frozenset()), " send-mail ", listed)[0] == "send-mail"


def test_excluded_tools_are_not_found() -> None:
    listed = list_of("mail_a", "mail_b")
    assert find(Catalog(frozenset({"mail_b"})), "mail", listed) == ["mail_a"]


def test_unknown_words_find_nothing() -> None:
    assert find(Catalog(frozenset()), "the zzzz", list_of("mail")) == []
