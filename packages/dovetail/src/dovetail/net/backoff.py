"""Pauses between attempts to reach something that failed."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["backoff"]


def backoff(first: float, longest: float) -> Iterator[float]:
    """Seconds to wait before each further attempt: doubled each time, from `first` to `longest`.

    Each is shortened at random by up to a half, so that many clients do not try at the same moment.
    """
    pause = min(first, longest)
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, longest)
