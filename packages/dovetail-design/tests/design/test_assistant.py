"""generate_design and chat_with_civi: by rules, or through the client's model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dovetail.client import Client
from tests.design.driving import box, text
from tests.design.test_tools import create, tell
from tests.driving import good, refused

LAYOUT = {
    "background": "#102030",
    "elements": [text("t", "Hello", fill="#ffffff"), box("b", 100, 300)],
}


def test_rules_make_a_design_without_faults(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        for prompt, size in (
            ('A poster for the concert "Blue Night" on 3 May', {}),
            ("A certificate for Ada Lovelace", {"width": 1200, "height": 850}),
            ("an instagram post about coffee", {"width": 1080, "height": 1080}),
        ):
            made = await good(client, "generate_design", prompt=prompt, **size)
            assert (made["method"], made["warnings"], made["version"]) == ("rules", [], 1)
            if size:
                assert made["design"]["width"] == size["width"]
            again = await good(client, "generate_design", prompt=prompt, **size)
            first = await good(client, "get_design", designId=made["designId"])
            second = await good(client, "get_design", designId=again["designId"])
            assert plain(first) == plain(second)
        assert "does not support sampling" in await refused(
            client, "generate_design", prompt="x", method="sampling"
        )

    tell(tmp_path, story)


def plain(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "createdAt": "", "updatedAt": ""} for one in found["elements"]]


@pytest.mark.parametrize("mode", ["2025-06-18", "2026-07-28"])
def test_the_clients_model_makes_a_design_where_it_may(tmp_path: Path, mode: str) -> None:
    asked: list[Any] = []

    def sample(request: Any) -> str:
        asked.append(request)
        return f"Here it is:\n```json\n{json.dumps(LAYOUT)}\n```"

    async def story(client: Client) -> None:
        made = await good(client, "generate_design", prompt="say hello", width=800, height=600)
        assert (made["method"], made["elementIds"]) == ("sampling", ["t", "b"])
        found = await good(client, "get_design", designId=made["designId"])
        assert found["background"] == "#102030"
        ruled = await good(client, "generate_design", prompt="say hello", method="rules")
        assert ruled["method"] == "rules" and len(asked) == 1

    tell(tmp_path, story, sample=sample, mode=mode)


def test_what_the_model_says_is_checked_and_rules_take_over(tmp_path: Path) -> None:
    answers = iter(["no JSON", '{"elements": []}', '{"elements": [{"type": "blob"}]}', "[1]"])

    async def story(client: Client) -> None:
        for _ in range(4):
            made = await good(client, "generate_design", prompt="a quote", width=800, height=800)
            assert (made["method"], made["warnings"]) == ("rules", [])

    tell(tmp_path, story, sample=lambda _: next(answers))


def test_plain_words_change_a_design(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        title = text("t", "Title", name="title", fontSize=30)
        await good(client, "add_element", designId=id, element=title)

        async def say(message: str, **more: Any) -> dict[str, Any]:
            return await good(
                client, "chat_with_civi", message=message, context={"designId": id}, **more
            )

        only = await say("make the title bigger", apply=False)
        assert only["operations"] and not only["applied"] and only["version"] is None
        bigger = await say("make the title bigger")
        assert (bigger["method"], bigger["version"], bigger["applied"]) == ("rules", 3, True)
        found = await good(client, "get_design", designId=id)
        assert found["elements"][0]["fontSize"] > 30
        await say("change the background to navy")
        found = await good(client, "get_design", designId=id)
        assert found["background"] == "navy"
        puzzled = await say("sing me a song about the sea")
        assert not puzzled["applied"] and "did not understand" in puzzled["reply"]
        free = await good(client, "chat_with_civi", message="help")
        assert free["designId"] is None and "title" in free["reply"]
        await refused(client, "chat_with_civi", message="hi", designId="nobody")

    tell(tmp_path, story)


def test_the_clients_model_changes_a_design_where_it_may(tmp_path: Path) -> None:
    change = {"op": "update", "elementId": "t", "updates": {"text": "Ahoy"}}
    answers = iter(
        [
            json.dumps({"reply": "Said so.", "operations": [change]}),
            json.dumps({"reply": "x", "operations": [{**change, "elementId": "nobody"}]}),
        ]
    )

    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=text("t", "Hello"))
        done = await good(client, "chat_with_civi", message="say it like a sailor", designId=id)
        assert (done["method"], done["reply"], done["version"]) == ("sampling", "Said so.", 3)
        found = await good(client, "get_design", designId=id)
        assert found["elements"][0]["text"] == "Ahoy"
        # Operations that cannot be applied are as if they had not been said.
        wrong = await good(client, "chat_with_civi", message="and like a cook", designId=id)
        assert (wrong["method"], wrong["applied"]) == ("rules", False)

    tell(tmp_path, story, sample=lambda _: next(answers))
