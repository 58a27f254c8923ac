"""Five tasks as an assistant does them, with both tool lists: calls, and characters of all answers.

`docs/vault.md` has the figures, also those of the server before `--tools` existed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import ClientSession

from tests.driving import use_over_stdio
from tests.vault.driving import command, write

TOPICS = ("Heat pump", "Attic", "Garden shed", "Rain barrel", "Solar panels", "Cellar", "Bikes")
TEXT = "We compared three offers, asked the neighbours and wrote down what they said about it.\n"
CALL = {"frontmatter": {"due": "2026-12-15", "status": "open"}}
LOGGED = "# Call with the installer\n\nThe installer comes in week 50. See [[Heat pump]].\n"
ADDED = [
    {"op": "append", "target": {"heading": "Tasks"}, "content": "- [ ] clear the cellar #todo"},
    {"op": "set", "target": {"frontmatter": "status"}, "content": "waiting"},
]
NEW_NAME = "Projects/Air source heat pump.md"


class Task(NamedTuple):
    """The calls of a task by tool list, a part of the answers, and the figures of before."""

    default: list[tuple[str, dict[str, Any]]]
    compact: list[tuple[str, dict[str, Any]]]
    answer: str
    calls_before: int
    chars_before: int


TASKS = {
    "quote what a note says about a topic": Task(
        [
            ("search-vault", {"query": "heat pump costs"}),
            ("read-note", {"path": "Projects/Heat pump.md", "heading": "Costs"}),
        ],
        [
            ("search", {"query": "heat pump costs"}),
            ("read", {"path": "Projects/Heat pump.md", "heading": "Costs"}),
        ],
        "18,400 euros",
        2,
        11_211,
    ),
    "list the open projects that are due before December": Task(
        [("search-vault", {"where": "due < 2026-12-01 AND status = open", "path": "Projects"})],
        [("search", {"where": "due < 2026-12-01 AND status = open", "path": "Projects"})],
        "Projects/Garden shed.md",
        1,
        10_467,
    ),
    "log a call and add a task to its project": Task(
        [
            ("write-note", {"path": "Log/2026-11-16 Installer", "content": LOGGED, **CALL}),
            ("edit-note", {"path": "Heat pump", "edits": ADDED}),
        ],
        [
            ("edit", {"path": "Log/2026-11-16 Installer", "content": LOGGED, **CALL}),
            ("edit", {"path": "Heat pump", "edits": ADDED}),
        ],
        "+status: waiting",
        2,
        2_269,
    ),
    "rename a note and look for broken links": Task(
        [
            ("move-note", {"from": "Heat pump", "to": NEW_NAME}),
            ("get-links", {"kind": "broken"}),
        ],
        [
            ("edit", {"path": "Heat pump", "moveTo": NEW_NAME}),
            ("search", {"kind": "broken"}),
        ],
        NEW_NAME,
        2,
        1_742,
    ),
    "rename a tag and list its notes": Task(
        [
            ("list-tags", {}),
            ("move-note", {"from": "#todo", "to": "#task"}),
            ("search-by-tags", {"tags": ["task"]}),
        ],
        [
            ("search", {"kind": "tags"}),
            ("edit", {"path": "#todo", "moveTo": "#task"}),
            ("search", {"query": "tag:task"}),
        ],
        "task",
        3,
        15_330,
    ),
}


def make_vault(vault: Path) -> None:
    for number, topic in enumerate(TOPICS):
        due = f"2026-{11 + number % 2}-{10 + number}"
        write(
            vault,
            f"Projects/{topic}.md",
            f"---\nstatus: {'done' if number == 4 else 'open'}\ndue: {due}\ntags: [project]\n---\n"
            f"# {topic}\n\n{TEXT * 3}\n## Tasks\n\n- [ ] ask again #todo\n\n## Costs\n\n"
            f"{18_400 - 1_000 * number:,} euros, see [[{TOPICS[number - 1]}]].\n\n"
            f"## Notes\n\n{TEXT * 5}",
        )
    for day in range(1, 25):
        topic = TOPICS[day % len(TOPICS)]
        write(
            vault,
            f"Daily/2026-10-{day:02}.md",
            f"# October {day}\n\n{TEXT}Worked on [[{topic}]], thought about costs #todo\n",
        )


@pytest.mark.parametrize("tools", ["default", "compact"])
def test_tasks_need_no_more_calls_and_fewer_characters_than_before(
    tmp_path: Path, tools: str
) -> None:
    figures: dict[str, tuple[int, int]] = {}

    async def script(session: ClientSession) -> None:
        await session.initialize()
        while "indexing" in str((await session.call_tool("list-notes", {})).structured_content):
            pass
        listed = {tool.name for tool in (await session.list_tools()).tools}
        for name, task in TASKS.items():
            answers = []
            calls = task.default if tools == "default" else task.compact
            for tool, arguments in calls:
                assert tool in listed
                result = await session.call_tool(tool, arguments)
                assert not result.is_error, result.content
                answers.append(result.model_dump_json(by_alias=True, exclude_none=True))
            assert task.answer in "".join(answers), name
            figures[name] = (len(calls), sum(map(len, answers)))

    make_vault(tmp_path / "vault")
    use_over_stdio(command(tmp_path / "vault", "--tools", tools), script)
    for name, (calls, characters) in figures.items():
        assert calls <= TASKS[name].calls_before
        assert characters < TASKS[name].chars_before, (name, characters)
