from __future__ import annotations

import pytest

from dovetail_design.model.colours import NO_COLOUR, Rgba, parse_colour


@pytest.mark.parametrize(
    ("text", "colour"),
    [
        ("#f80", Rgba(255, 136, 0)),
        ("#F80C", Rgba(255, 136, 0, 0.8)),
        ("#ff8800", Rgba(255, 136, 0)),
        ("#ff880080", Rgba(255, 136, 0, 128 / 255)),
        ("rgb(255, 136, 0)", Rgba(255, 136, 0)),
        ("rgb(100% 50% 0%)", Rgba(255, 128, 0)),
        ("rgba(1,2,3,.5)", Rgba(1, 2, 3, 0.5)),
        ("rgb(1 2 3 / 50%)", Rgba(1, 2, 3, 0.5)),
        ("rgb(300, -5, 3)", Rgba(255, 0, 3)),
        ("hsl(120, 100%, 50%)", Rgba(0, 255, 0)),
        ("hsla(240deg 100% 50% / 0.25)", Rgba(0, 0, 255, 0.25)),
        ("hsl(-120, 100%, 25%)", Rgba(0, 0, 128)),
        (" RebeccaPurple ", Rgba(102, 51, 153)),
        ("transparent", NO_COLOUR),
        ("none", NO_COLOUR),
    ],
)
def test_a_colour_is_read(text: str, colour: Rgba) -> None:
    assert parse_colour(text) == pytest.approx(colour)


@pytest.mark.parametrize(
    "text",
    ["", "#12", "#12345", "#ggg", "rgb(1,2)", "rgb(1,2,x)", "hsl(a,1%,1%)", "url(#x)", "rgb"],
)
def test_what_is_no_colour_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a colour.*allowed: #rgb"):
        parse_colour(text)


def test_a_misspelt_name_gets_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'turquoise'"):
        parse_colour("turqoise")


def test_a_colour_is_written_as_hex() -> None:
    assert Rgba(1, 2, 255, 0.5).hex == "#0102ff"
