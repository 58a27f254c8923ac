"""Settings are decoded with all their problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dovetail_gateway.files import decode_settings


@dataclass(frozen=True, kw_only=True)
class Shelf:
    size: int = 1
    labels: tuple[str, ...] = ()

    def find_problems(self, path: str) -> Iterator[str]:
        if self.size < 1:
            yield f"{path}.size: too small"


@dataclass(frozen=True, kw_only=True)
class Room:
    name: str | None = None
    best: Shelf = field(default_factory=Shelf)
    shelves: Mapping[str, Shelf] = field(default_factory=dict)


def test_values_become_settings() -> None:
    problems: list[str] = []
    given = {"name": "a", "best": {"size": 3}, "shelves": {"x": {"labels": ["y"]}}}
    room = decode_settings(given, Room, "", problems)
    assert problems == []
    assert room == Room(name="a", best=Shelf(size=3), shelves={"x": Shelf(labels=("y",))})


def test_every_problem_is_found_and_has_a_path() -> None:
    problems: list[str] = []
    given = {
        "nmae": "a",
        "name": 1,
        "best": {"size": 0, "zzz": 1},
        "shelves": {"x": {"size": "big", "labels": ["ok", 2]}, "y": 5, "z": {"size": -1}},
    }
    room = decode_settings(given, Room, "", problems)
    assert problems == [
        "nmae: unknown key; did you mean 'name'?",
        "name: Expected `str`, got `int`",
        "best.zzz: unknown key; known: size, labels",
        "best.size: too small",
        "shelves.x.size: Expected `int`, got `str`",
        "shelves.x.labels: Expected `str`, got `int` - at `$[1]`",
        "shelves.y: expected a table, got `int`",
        "shelves.z.size: too small",
    ]
    assert room.name is None


def test_what_is_no_table_is_a_problem() -> None:
    problems: list[str] = []
    assert decode_settings([1], Room, "", problems) == Room()
    decode_settings({"shelves": 1, "best": 2}, Room, "house", problems)
    assert problems == [
        "the file: expected a table, got `list`",
        "house.shelves: Expected `object`, got `int`",
        "house.best: expected a table, got `int`",
    ]
