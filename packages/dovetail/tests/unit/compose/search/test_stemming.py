"""Stems: forms of one word share a stem, other words keep theirs."""

from __future__ import annotations

import pytest

from dovetail.compose.search.stemming import stem


@pytest.mark.parametrize(
    "forms",
    [
        "create creates created creating creation",
        "generate generates generated generating generation",
        "notify notifies notified notifying notification",
        "authorize authorized authorization authorisation authorise authorised",
        "query queries querying queried",
        "branch branches",
        "delete deletes deleted deleting deletion",
        "subscribe subscribed subscription subscriptions",
        "register registered registration",
        "remove removed removing removal",
        "run runs running",
        "deploy deployment deployments",
        "setting settings",
    ],
)
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("word", ["string", "status", "comment", "red", "api", "größe", "v2"])
def test_a_word_without_such_an_ending_stays(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("one", "other"), [("set", "settings"), ("form", "format"), ("run", "rung")]
)
def test_different_words_have_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)
