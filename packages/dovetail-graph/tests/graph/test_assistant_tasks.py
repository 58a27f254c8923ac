"""Five tasks of an assistant, through the official client, in both sets of tools."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from tests.graph.assistant_tasks import TASKS, memory
from tests.graph.driving import command
from tests.graph.official import official, size_of

# Calls and characters of all answers before (docs/graph.md has the table). A few characters more
# are for numbers with more digits.
BEFORE = [(3, 1_220), (3, 1_736), (3, 1_588), (2, 1_606), (3, 11_344)]


@pytest.mark.parametrize("tools", ["default", "compact"])
def test_tasks_need_no_more_calls_and_characters_than_before(
    tmp_path: Path, tools: Literal["default", "compact"]
) -> None:
    with official(command(tmp_path / "graph.db", "--tools", tools)) as client:
        for tool, arguments in memory():
            client.call(tool, arguments)
        for task, (calls, characters) in zip(TASKS, BEFORE, strict=True):
            answers = [client.call(*call) for call in getattr(task, tools)]
            assert not any(answer.is_error for answer in answers), task.title
            text = "".join(answer.content[0].text for answer in answers)  # type: ignore[union-attr]
            assert [said for said in task.says if said not in text] == [], task.title
            assert len(answers) <= calls, task.title
            assert sum(map(size_of, answers)) <= characters + 100, task.title
