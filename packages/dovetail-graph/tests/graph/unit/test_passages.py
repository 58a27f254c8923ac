from __future__ import annotations

from dovetail_graph.passages import passages_of
from dovetail_graph.records import observation_id


def test_each_passage_starts_with_the_name_of_its_entity() -> None:
    [one, other] = passages_of("Ada", "person", ["likes sailing", "left in May"])
    assert one.text == "Ada: likes sailing" and one.observation == observation_id("likes sailing")
    assert other.text == "Ada: left in May" and one.digest != other.digest


def test_an_entity_without_observations_has_a_passage_of_name_and_type() -> None:
    [one] = passages_of("PaymentService", "back_end", [])
    assert (one.text, one.observation) == ("Payment Service (back end)", "")


def test_identifiers_are_split_into_words() -> None:
    names = ("PaymentService", "HTTPServer", "load_test_rig", "iPhone9Plus", "___", "Ada")
    called = [passages_of(name, "x", ["y"])[0].text.partition(":")[0] for name in names]
    assert called == [
        "Payment Service",
        "HTTP Server",
        "load test rig",
        "i Phone9 Plus",
        "___",
        "Ada",
    ]


def test_a_long_observation_is_several_passages_of_whole_words() -> None:
    content = " ".join(f"word{number}" for number in range(500))
    found = passages_of("X", "thing", [content])
    assert len(found) > 3 and all(len(one.text) <= 900 for one in found)
    assert {one.observation for one in found} == {observation_id(content)}
    assert " ".join(one.text.removeprefix("X: ").strip() for one in found) == content


def test_a_long_text_without_spaces_is_split() -> None:
    found = passages_of("X", "thing", ["ab" * 1_500])
    assert "".join(one.text.removeprefix("X: ") for one in found).startswith("abab")
    assert all(len(one.text) <= 900 for one in found)


def test_the_number_of_passages_is_limited_to_the_latest() -> None:
    found = passages_of("X", "thing", [f"number {number}" for number in range(1_000)])
    assert len(found) == 256 and found[-1].text == "X: number 999"


def test_equal_observations_share_a_passage() -> None:
    assert len(passages_of("X", "thing", ["same", "same"])) == 1
