"""Pictures compared: structural similarity, as people see differences."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import PIL.Image

_WINDOW = 8
_LIGHT, _CONTRAST = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def read_grey(data: bytes) -> Any:
    """The picture on white, one number a pixel."""
    image = PIL.Image.open(io.BytesIO(data)).convert("RGBA")
    white = PIL.Image.new("RGBA", image.size, "white")
    return np.asarray(PIL.Image.alpha_composite(white, image).convert("L"), dtype=np.float64)


def similarity(one: bytes, other: bytes) -> float:
    """The mean SSIM over windows of 8 x 8 (Wang et al. 2004, with flat windows)."""
    first, second = read_grey(one), read_grey(other)
    assert first.shape == second.shape, f"{first.shape} is not {second.shape}"
    mean_1, mean_2 = _means(first), _means(second)
    spread_1 = _means(first * first) - mean_1**2
    spread_2 = _means(second * second) - mean_2**2
    shared = _means(first * second) - mean_1 * mean_2
    top = (2 * mean_1 * mean_2 + _LIGHT) * (2 * shared + _CONTRAST)
    bottom = (mean_1**2 + mean_2**2 + _LIGHT) * (spread_1 + spread_2 + _CONTRAST)
    return float((top / bottom).mean())


def _means(values: Any) -> Any:
    sums = np.pad(values, ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    size = _WINDOW
    total = sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size]
    return total / size**2


def colour_distance(one: bytes, other: bytes) -> float:
    """The mean difference of a channel, 0 to 255: SSIM alone does not see colours."""
    first, second = (
        np.asarray(PIL.Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.float64)
        for data in (one, other)
    )
    return float(np.abs(first - second).mean())
