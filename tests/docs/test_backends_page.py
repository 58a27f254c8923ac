"""The backend that the page about backends shows behaves like all others."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.testing import BackendTests, connect
from tests.contracts.documents import read_blocks
from tests.contracts.source_tree import ROOT

_PAGE = (ROOT / "docs" / "backends.md").read_text("utf-8")
_PAGE_NAMES: dict[str, Any] = {"__name__": "backends_page"}
for _block in read_blocks(_PAGE):
    if "class " in _block.text:
        exec(_block.text, _PAGE_NAMES)


_Shown: Any = _PAGE_NAMES["TestFileBackend"]


class TestPage(_Shown):  # type: ignore[misc]  # only known at run time
    @pytest.fixture(autouse=True)
    def _use(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_page_runs_the_kit() -> None:
    assert issubclass(TestPage, BackendTests)


def test_the_entry_point_makes_the_url_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = read_blocks(_PAGE)
    [declared] = [block.text for block in blocks if block.language == "toml"]
    [(group, names)] = tomllib.loads(declared)["project"]["entry-points"].items()
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in names.items())]
    installed = tmp_path / "file_backend-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: file-backend\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("\n".join(lines))
    [source] = [block.text for block in blocks if block.text.startswith("# file_backend.py\n")]
    (tmp_path / "file_backend.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "file_backend", raising=False)

    server = Server("shop", options=Options(state=f"file://{tmp_path}/the%20state"))

    @server.tool
    async def put(ctx: Context) -> str:
        """Store a value."""
        await ctx.session_state.set("basket", ["pear"])
        return "done"

    async def run() -> None:
        async with connect(server, principal="anna") as client:
            assert (await client.call("put")).text == "done"

    asyncio.run(run())
    assert (tmp_path / "the state").exists()
