"""Loads the graphics library, with a helpful error if that fails."""

from __future__ import annotations

from dovetail import UsageError

try:
    import skia  # type: ignore[import-not-found]  # it ships without types
except ImportError as error:
    raise UsageError(
        f"The graphics library cannot be loaded: {error}. It needs skia-python (pip install "
        "dovetail-design) and the libraries that skia links to (Debian: apt install libegl1 libgl1)"
    ) from None

__all__ = ["skia"]
