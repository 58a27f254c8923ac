"""Visibility according to a style attribute."""

from __future__ import annotations

import pytest

from dovetail_browser.inline_style import is_hidden_by_style, visibility_of


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "DISPLAY : NONE ; color:red",
        "content-visibility:hidden",
        "opacity:0",
        "opacity:.01",
        "filter:opacity(0)",
        "filter:opacity(0%)",
        "font-size:0em",
        "transform:translate(1px) scale(0)",
        "clip-path:inset(50%)",
        "clip-path:circle(0 at 50% 50%)",
        "clip:rect(1px, 1px, 1px, 1px)",
        "overflow:hidden;height:1px",
        "overflow-y:clip;max-height:0",
        "position:fixed;top:-1000px",
        "text-indent:-9999px",
        "margin-left:-5000px",
        "color:transparent",
        "color:white;background-color:white",
    ],
)
def test_hidden(style: str) -> None:
    assert is_hidden_by_style(style)


@pytest.mark.parametrize(
    "style",
    [
        "",
        "display:block",
        "display:none-such",
        "opacity:0.5",
        "opacity:",
        "filter:opacity(0.5)",
        "font-size:10px",
        "font-size:0.9em",
        "clip-path:inset(10px)",
        "clip-path:inset(5%)",
        "height:0",
        "overflow:hidden;height:10px",
        "left:-9999px",
        "position:absolute;left:-10px",
        "text-indent:2em",
        "margin-left:-20px",
        "color:white;background:black",
    ],
)
def test_shown(style: str) -> None:
    assert not is_hidden_by_style(style)


def test_visibility_is_inherited_unless_it_is_set() -> None:
    assert visibility_of({}, True) and not visibility_of({}, False)
    assert not visibility_of({"style": "visibility:hidden"}, True)
    assert not visibility_of({"style": "visibility: collapse"}, True)
    assert visibility_of({"style": "visibility:visible"}, False)
    assert not visibility_of({"style": "color:red"}, False)
