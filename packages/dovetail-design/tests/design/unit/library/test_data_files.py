"""The data files of the library are valid, complete and all used."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest

from dovetail_design.library import data_files
from dovetail_design.library.data_files import read_json, read_svg

DATA = Path(str(resources.files("dovetail_design.library"))) / "data"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20">{}</svg>'


def read(monkeypatch: pytest.MonkeyPatch, content: str) -> tuple[data_files.Layer, ...]:
    monkeypatch.setattr(data_files, "_read", lambda path: SVG.format(content).encode())
    return read_svg("clipart/test.svg", 10, 20)


def test_paths_are_read_in_order_and_unwrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    layers = read(
        monkeypatch, '<path fill="#ff000080" d="\n  M0 0\n    L5 5 Z\n"/><path d="M1 1"/>'
    )
    assert layers == (("#ff000080", "M0 0 L5 5 Z"), ("#000000", "M1 1"))


def test_a_gradient_becomes_a_css_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    stops = '<stop offset="0" stop-color="#111111"/><stop offset="1" stop-color="#222222"/>'
    gradient = f'<linearGradient id="sky" x2="0" y2="1">{stops}</linearGradient>'
    layers = read(monkeypatch, f'{gradient}<path fill="url(#sky)" d="M0 0"/>')
    assert layers == (("linear-gradient(180deg, #111111, #222222)", "M0 0"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('<circle r="5"/>', "<circle> is not supported"),
        ('<linearGradient id="a"><stop/><stop offset="1"/></linearGradient>', "top to bottom"),
        (
            '<linearGradient id="a" x2="0" y2="1"><stop/><stop offset=".4"/></linearGradient>',
            "evenly spaced",
        ),
    ],
)
def test_other_svg_is_refused(monkeypatch: pytest.MonkeyPatch, content: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"clipart/test.svg: .*{message}"):
        read(monkeypatch, content)


def test_another_view_box_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "_read", lambda path: SVG.format("").encode())
    with pytest.raises(ValueError, match="'0 0 10 20', expected '0 0 10 10'"):
        read_svg("clipart/test.svg", 10, 10)


def test_invalid_json_is_reported_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "_read", lambda path: b'["a", 1]')
    with pytest.raises(ValueError, match=r"templates/index.json: Expected `str`"):
        read_json("templates/index.json", list[str])


def index(folder: str) -> set[str]:
    listed = json.loads((DATA / folder / "index.json").read_text(encoding="utf-8"))
    if folder == "templates":
        return set(listed)
    if folder == "shapes":
        return {name for names in listed.values() for name in names}
    return {one["name"] for one in listed["pictures"] if not one.keys() & {"paints", "texture"}}


@pytest.mark.parametrize("folder", sorted(path.name for path in DATA.iterdir()))
def test_every_file_is_in_the_index_of_its_folder(folder: str) -> None:
    assert {path.stem for path in (DATA / folder).iterdir()} - {"index"} == index(folder)
