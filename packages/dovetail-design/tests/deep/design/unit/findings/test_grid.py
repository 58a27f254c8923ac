"""The grid finds exactly the boxes that share some area."""

from __future__ import annotations

from random import Random

from dovetail_design.findings.boxes import Box
from dovetail_design.findings.grid import Grid


def random_box(chance: Random) -> Box:
    x, y = chance.uniform(-200, 1200), chance.uniform(-200, 1200)
    size = chance.choice([5, 40, 400, 1500])
    return Box(x, y, x + chance.uniform(1, size), y + chance.uniform(1, size))


def test_it_finds_what_a_look_at_everything_finds() -> None:
    chance = Random(7)
    boxes = [random_box(chance) for _ in range(400)]
    grid = Grid(boxes, 1000, 1000)
    for _ in range(60):
        wanted = random_box(chance)
        everything = [number for number, box in enumerate(boxes) if box.meet(wanted)]
        assert list(grid.near(wanted)) == everything


def test_small_boxes_far_away_are_not_even_looked_at() -> None:
    class Counting(Box):
        looks = 0

        def meet(self, other: Box) -> Box | None:
            Counting.looks += 1
            return super().meet(other)

    boxes = [Counting(x * 10, y * 10, x * 10 + 8, y * 10 + 8) for x in range(60) for y in range(60)]
    assert list(Grid(boxes, 600, 600).near(Box(301, 301, 305, 305))) == [30 * 60 + 30]
    assert Counting.looks < 20
