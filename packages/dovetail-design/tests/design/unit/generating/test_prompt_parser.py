"""What a prompt says."""

from __future__ import annotations

import pytest

from dovetail_design.generating.prompt_parser import parse_prompt


@pytest.mark.parametrize(
    ("prompt", "slot", "value"),
    [
        ("a party on Saturday, 12 July 2027 at 8pm", "date", "Saturday, 12 July 2027"),
        ("a party on July 12", "date", "July 12"),
        ("open 2027-03-04", "date", "2027-03-04"),
        ("a party at 19:30 to 22:00", "time", "19:30 to 22:00"),
        ("a party, 8 pm", "time", "8 pm"),
        ("sale 40% off", "discount", "40%"),
        ("voucher worth \u20ac 75", "price", "\u20ac 75"),
        ("write to ana@silva.example", "email", "ana@silva.example"),
        ("see northwind.example/jobs", "url", "northwind.example/jobs"),
        ("follow @plaincode", "handle", "@plaincode"),
        ("call +351 555 010 203", "phone", "+351 555 010 203"),
        ('a quote card "Less, but better" by Dieter Rams', "quote", "Less, but better"),
        ('a quote card "Less, but better" by Dieter Rams', "author", "Dieter Rams"),
        ("certificate of merit for Maria Lopez", "name", "Maria Lopez"),
        ("a concert in Rotterdam", "place", "Rotterdam"),
        ("we are hiring a data engineer in Berlin", "title", "Data engineer"),
        ("Wedding invitation Eva and Tom", "partner", "Tom"),
        ("card for Ana Silva, photographer", "role", "Photographer"),
        ("title: Hello World, place: Town hall", "title", "Hello World"),
        ("headline: Hello", "title", "Hello"),
        ("location: Town hall", "place", "Town hall"),
        ('poster "First words" "Second words"', "subtitle", "Second words"),
    ],
)
def test_pieces_with_a_place_of_their_own_are_found(prompt: str, slot: str, value: str) -> None:
    assert parse_prompt(prompt).values[slot] == value


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Create an Instagram post for our summer concert", "Summer concert"),
        ("poster for a festival called Blue Nights on 21 June", "Blue Nights"),
        ("presentation about renewable energy in Europe", "Renewable energy in Europe"),
        ("black friday sale 40% off", "Black friday sale"),
        ("birthday party invitation for Tim", "Tim's birthday"),
        ("YouTube thumbnail: How to bake bread", "How to bake bread"),
        ("event ticket for The Lantern Orchestra, 21 June", "The Lantern Orchestra"),
    ],
)
def test_the_title_is_what_is_left(prompt: str, title: str) -> None:
    assert parse_prompt(prompt).values["title"] == title


def test_a_long_rest_is_cut_between_words() -> None:
    title = parse_prompt("poster about " + "very " * 40 + "long things").values["title"]
    assert len(title) <= 60
    assert title.endswith("very")


def test_an_empty_prompt_says_nothing() -> None:
    assert parse_prompt("   ").values == {}
