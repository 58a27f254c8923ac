"""Decay of confidence: it halves with every half-life since the last reinforcement."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DAY", "Decay"]

DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Decay:
    """Decay parameters; half-lives are in days."""

    half_life: float = 30.0
    floor: float = 0.1
    by_type: Mapping[str, float] = field(default_factory=dict)
    factor: float = 0.5

    def apply(self, confidence: float, since: int, now: int, kind: str = "") -> float:
        """Return the decayed confidence. It stops at the floor; lower values stay as they are."""
        days = max(0, now - since) / DAY
        left = confidence * math.pow(self.factor, days / self.by_type.get(kind, self.half_life))
        return max(min(self.floor, confidence), left)
