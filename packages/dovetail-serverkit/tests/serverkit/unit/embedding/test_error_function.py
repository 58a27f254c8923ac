from __future__ import annotations

import math

from dovetail_serverkit.embedding.error_function import erf, gelu
from dovetail_serverkit.embedding.numeric import np


def test_erf_is_exact_to_float32_precision() -> None:
    numbers = np.linspace(-7, 7, 60_001, dtype=np.float32)
    expected = np.array([math.erf(number) for number in numbers.tolist()])
    assert np.abs(erf(numbers) - expected).max() < 4e-7


def test_gelu_is_exact_and_not_the_tanh_approximation() -> None:
    numbers = np.linspace(-5, 5, 40_000, dtype=np.float32)
    expected = [number * 0.5 * (1 + math.erf(number / math.sqrt(2))) for number in numbers.tolist()]
    assert np.abs(gelu(numbers.copy()) - np.array(expected)).max() < 2e-6


def test_gelu_of_large_numbers() -> None:
    ends = gelu(np.array([-100, 0, 100], dtype=np.float32))
    assert ends.tolist() == [0, 0, 100]
