"""Steps are kept if the caller can take them."""

from __future__ import annotations

import pytest

from dovetail_browser.hints import fitting_steps, parameters_in, tools_in


@pytest.mark.parametrize(
    ("step", "tools", "parameters"),
    [
        ("try again", [], []),
        ("give one of `ref`, `role` with `name`", [], ["ref", "role", "name"]),
        ("wait_for with `timeout=9` waits", ["wait_for"], ["timeout"]),
        ("take_screenshot shows `x_y`", ["take_screenshot"], ["x_y"]),
    ],
)
def test_a_step_names_tools_and_parameters(
    step: str, tools: list[str], parameters: list[str]
) -> None:
    assert (tools_in(step), parameters_in(step)) == (tools, parameters)


def test_steps_about_parameters_that_the_call_does_not_have_are_left_out() -> None:
    steps = ["give `ref`", "give `label`", "wait_for with `timeout` waits", "try again"]
    assert fitting_steps(steps, {"ref"}) == [steps[0], steps[2], steps[3]]
