"""Terms of names, texts and questions."""

from __future__ import annotations

import pytest

from dovetail.compose.search.stemming import stem
from dovetail.compose.search.terms import question_terms, split_terms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("create_pull-request.v2", "create pull request v2"),
        ("listUserRepos", "list user repository listuserrepos"),
        ("GitHub", "git hub github"),
        ("HTTPServer", "http server httpserver"),
        ("to-do", "task"),
        ("re-run a job", "rerun re run job"),
        ("the PR of my org", "pull request organization"),
        ("", ""),
        ("日本語 tool", "日 本 語"),
    ],
)
def test_a_text_is_split_into_stems(text: str, words: str) -> None:
    expected = [stem(word) for word in words.split() if word != "re"]
    assert split_terms(text) == expected


def test_a_question_implies_terms_that_count_less() -> None:
    terms = question_terms("which labels did I take off the issue?")
    assert terms["label"] == terms["issu"] == 1.0
    assert terms["list"] == terms["remov"] == terms[stem("authenticated")] < 1.0


def test_values_and_parts_of_names_count_less_than_other_words() -> None:
    terms = question_terms('show the GitHub label "production" in /tmp/reports')
    assert terms["github"] == terms["label"] == 1.0
    assert terms["git"] == terms["hub"] < terms["product"] == terms["report"] < 1.0
