"""The backend that the page about backends shows behaves like all others."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest

from dovetail.testing import BackendTests
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
