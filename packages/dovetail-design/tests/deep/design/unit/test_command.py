from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail import UsageError
from dovetail.testing import connect
from dovetail_design.command import build, default_folder


def test_a_server_is_built_wherever_it_is_told_to_keep_designs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_folder() == tmp_path / "data" / "dovetail" / "design"

    async def close(**options: object) -> None:
        async with connect(build(**options)):  # type: ignore[arg-type]
            pass

    # `dovetail serve all` hands over one folder where another server takes only one.
    for options in (
        {},
        {"place": str(tmp_path / "a"), "namespace": "of another server"},
        {"directory": tmp_path / "b", "folder": tmp_path},
        {"directory": tmp_path / "c", "folder": (tmp_path,)},
    ):
        asyncio.run(close(**options))
    for folder in (default_folder(), *(tmp_path / name for name in "abc")):
        assert (folder / "designs.db").exists()


def test_two_places_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of them"):
        build(place="x", directory=tmp_path)


@pytest.mark.parametrize(
    ("name", "missing", "said"),
    [
        ("_LIBRARIES", ("skia", "no_such_library"), r"no_such_library, .*: pip install"),
        ("_SYSTEM_LIBRARIES", {"libnothing.so.9": "libnothing9"}, "apt install libnothing9"),
    ],
)
def test_what_drawing_lacks_is_told_at_the_start(
    name: str, missing: object, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"dovetail_design.command.{name}", missing)
    with pytest.raises(UsageError, match=said):
        build(directory=tmp_path)
