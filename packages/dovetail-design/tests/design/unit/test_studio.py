from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail import ToolError
from dovetail_design.canvases import Canvas
from dovetail_design.design_tools import new_design
from dovetail_design.storage import DesignRecord
from dovetail_design.studio import Caller, Studio, may_see, show_moment
from tests.design.writing import open_studio


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    opened = open_studio(tmp_path)
    yield opened
    opened.store.close()


def make(studio: Studio, owner: str = "", visibility: str = "PRIVATE") -> DesignRecord:
    state = {"name": "A", "width": 10, "height": 10, "elements": []}
    with studio.store.writing() as writer:
        return writer.add_design(new_design(visibility, owner), state, owner)


@pytest.mark.parametrize(
    ("visibility", "owner", "caller", "sees"),
    [
        ("PRIVATE", "ann", Caller("ann"), True),
        ("PRIVATE", "ann", Caller("bo"), False),
        ("PRIVATE", "ann", Caller(), False),
        ("PRIVATE", "ann", Caller("root", is_trusted=True), True),
        ("PRIVATE", "", Caller(), True),
        ("PRIVATE", "", Caller("bo"), False),
        ("UNLISTED", "ann", Caller("bo"), True),
        ("PUBLIC", "ann", Caller(), True),
    ],
)
def test_who_sees_what(
    studio: Studio, visibility: str, owner: str, caller: Caller, sees: bool
) -> None:
    assert may_see(make(studio, owner, visibility), caller) == sees


def test_a_change_that_is_refused_changes_nothing(studio: Studio) -> None:
    record = make(studio)

    def edit(canvas: Canvas) -> str:
        canvas.set(name="B")
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        studio.change(Caller(), record.id, "x", edit)
    assert studio.load(Caller(), record.id)[0].version == 1


def test_a_change_that_changes_nothing_is_no_version(studio: Studio) -> None:
    record = make(studio)
    change = studio.change(Caller(), record.id, "x", lambda _: "")
    assert (change.is_new, change.record.version) == (False, 1)
    dry = studio.change(
        Caller(), record.id, "x", lambda canvas: _set(canvas, name="B"), dry_run=True
    )
    assert (dry.is_new, dry.state["name"]) == (False, "B")
    assert studio.load(Caller(), record.id)[1]["name"] == "A"


def _set(canvas: Canvas, **values: Any) -> str:
    canvas.set(**values)
    return ""


def test_a_change_of_the_canvas_touches_all(studio: Studio) -> None:
    record = make(studio)
    change = studio.change(
        Caller(), record.id, "x", lambda canvas: _set(canvas, width=20), visibility="PUBLIC"
    )
    assert (change.is_whole, change.record.width, change.record.visibility) == (True, 20, "PUBLIC")
    with studio.store.reading() as reader:
        kept = reader.design(record.id)
    assert kept is not None
    assert (kept.version, kept.width, kept.visibility) == (2, 20, "PUBLIC")


def test_moments_are_iso() -> None:
    assert show_moment(1_000_500_000) == "1970-01-01T00:16:40.500Z"
