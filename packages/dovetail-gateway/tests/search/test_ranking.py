"""BM25: weights, rarity, stems, and words that stand in for others."""

from __future__ import annotations

import pytest

from dovetail_gateway.ranking import Entry, Ranking, first_sentence, stem


def tool(name: str, description: str = "", *arguments: str) -> Entry:
    schema: Entry = {"properties": {each: {} for each in arguments}}
    return {"name": name, "description": description, "inputSchema": schema}


def find(query: str, *tools: Entry) -> list[int]:
    return Ranking(tools).find(query)


def test_the_name_counts_more_than_the_description_and_that_more_than_arguments() -> None:
    tools = [tool("a", "x", "invoice"), tool("b", "invoice", "y"), tool("invoice", "x", "y")]
    assert find("invoice", *tools) == [2, 1, 0]


def test_the_first_sentence_counts_more_than_the_rest() -> None:
    tools = [tool("a", "Add it. Send mail."), tool("b", "Send mail. Add it.")]
    assert find("mail", *tools) == [1, 0]


def test_a_title_is_found_like_a_name() -> None:
    assert find("invoice", tool("a"), {**tool("b"), "title": "Send an invoice"}) == [1]


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    assert find("file zebra", tool("file_a"), tool("file_b"), tool("zebra_d"))[0] == 2


def test_other_forms_and_longer_words_are_found() -> None:
    tools = [tool("repository_list"), tool("delete_user"), tool("listUserRepos")]
    assert find("deleting users", *tools)[0] == 1
    assert find("repo", *tools) == [2, 0]
    assert find("listuserrepos", *tools)[0] == 2


def test_an_unknown_word_finds_one_that_is_spelled_nearly_the_same() -> None:
    assert find("calender", tool("calendar"), tool("category")) == [0]
    assert find("the xyz", tool("calendar")) == []


def test_languages_without_spaces_are_found_by_their_characters() -> None:
    assert find("天気", tool("a", "今日の天気"), tool("b", "mail")) == [0]


def test_equal_tools_keep_their_order() -> None:
    assert find("a1", tool("a1"), tool("a1")) == [0, 1]


def test_nothing_is_found_among_nothing() -> None:
    assert find("file") == find("", tool("file")) == []


def test_a_long_query_is_cut() -> None:
    assert find(" ".join(f"word{number}" for number in range(10_000)) + " last", tool("last")) == []


@pytest.mark.parametrize(
    "forms",
    [
        "create creates created creating creation",
        "generate generates generated generating generation",
        "notify notifies notified notifying",
        "query queries querying queried",
        "branch branches",
        "run runs running",
        "deploy deployment deployments",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("word", ["string", "status", "address", "red", "api", "größe", "v2"])
def test_a_word_without_such_an_ending_stays(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("One. Two.", "One."), ("One\n\nTwo. Three", "One"), ("v1.2 is here", "v1.2 is here")],
)
def test_the_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
