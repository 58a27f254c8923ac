from __future__ import annotations

from functools import partial
from operator import ge

import pytest

from dovetail import ToolError
from dovetail_serverkit.answer_size import json_size
from dovetail_vault.limits import cut, cut_errors, largest


def test_largest_is_the_last_number_that_fits() -> None:
    for most in (0, 1, 7, 100):
        for border in (0, 1, 5, 99, 200):
            assert largest(most, partial(ge, border)) == min(most, border)


def test_a_text_is_cut_at_its_size_as_json() -> None:
    assert cut("abc", 10) == "abc"
    assert cut("abcdefghij", 6) == "abcd"
    assert cut('""""', 6) == '""'
    assert cut("ééé", 4) == "éé"
    assert cut("abc", 1) == cut("abc", -5) == ""


def test_errors_are_cut_to_the_limit_of_the_call() -> None:
    @cut_errors
    def fail(*, maxChars: int = 1_000) -> None:
        raise ToolError("é" * 5_000 + str(maxChars))

    with pytest.raises(ToolError) as caught:
        fail(maxChars=1_000)
    assert 500 < json_size(str(caught.value)) <= 1_000
