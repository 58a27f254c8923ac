"""Fixtures of the design server's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dovetail_design.rendering import typesetting
from dovetail_design.rendering.graphics import skia


@pytest.fixture
def no_system_fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without fonts, so that a character is missing wherever the test runs."""
    monkeypatch.setattr(typesetting, "_system_fonts", skia.FontMgr.New_Custom_Empty)
    typesetting.typesetter_for.cache_clear()
    yield
    typesetting.typesetter_for.cache_clear()
