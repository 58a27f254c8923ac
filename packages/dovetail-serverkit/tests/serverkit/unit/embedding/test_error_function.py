from __future__ import annotations

import math

from dovetail_serverkit.embedding.error_function import erf, gelu
from dovetail_serverkit.embedding.numeric import np


def test_it_is_the_error_function_to_the_precision_of_its_numbers() -> None:
    numbers = np.linspace(-7, 7, 60_001, dtype=np.float32)
    due = np.array([math.erf(number) for number in numbers.tolist()])
    assert np.abs(erf(numbers) - due).max() < 4e-7


def test_the_activation_is_the_exact_one_and_not_its_short_cut() -> None:
    numbers = np.linspace(-5, 5, 40_000, dtype=np.float32)
    due = [number * 0.5 * (1 + math.erf(number / math.sqrt(2))) for number in numbers.tolist()]
    assert np.abs(gelu(numbers.copy()) - np.array(due)).max() < 2e-6


def test_large_numbers_stay_and_small_ones_vanish() -> None:
    ends = gelu(np.array([-100, 0, 100], dtype=np.float32))
    assert ends.tolist() == [0, 0, 100]
