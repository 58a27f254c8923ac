"""The saboteur; see tests/check."""

from __future__ import annotations

from tests.check.conftest import saboteur_url

__all__ = ["saboteur_url"]
