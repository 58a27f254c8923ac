"""Loads the graphics library, with a helpful error if that fails."""

from __future__ import annotations

from dovetail import UsageError

try:
    import skia  # type: ignore[import-not-found]  # it ships without types
except ImportError as error:
    raise UsageError(
        f"The graphics library cannot be loaded: {error}. Install dovetail-design, and on Debian "
        "the packages libegl1 and libgl1, which skia-python links to"
    ) from None

__all__ = ["skia"]
