"""generate_design and chat_with_civi: what a model needs for the work, and the call after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from dovetail.client import Client
from tests.deep.design.driving import SharedStudio, text
from tests.deep.design.test_tools import create
from tests.driving import good, refused

# Facts that rules used to lose; here the caller puts them into the slots.
FACTS = {"time": "8 pm", "price": "18 euros", "date": "Friday 3 May", "place": "Blue Room, Ghent"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStudio]:
    with SharedStudio.start(tmp_path_factory.mktemp("studio")) as started:
        yield started


def test_a_filled_template_keeps_every_fact(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        told = await good(
            client,
            "generate_design",
            prompt="A poster for a jazz concert, Friday 3 May, 8 pm, 18 euros, Blue Room in Ghent",
            width=1000,
            height=1400,
            style="elegant dark",
        )
        best = told["templates"][0]
        assert best["id"] == "poster-concert" and len(told["templates"]) == 3
        assert any("'elegant'" in one for one in told["cannot"])
        assert any("photos" in one for one in told["cannot"])
        assert (await good(client, "list_designs"))["total"] == 0

        values = {slot: FACTS.get(slot, f"My {slot}") for slot in best["slots"]["properties"]}
        jsonschema.validate(values, best["slots"])
        call = told["next"]
        assert call["tool"] == "apply_template"
        made = await good(client, call["tool"], **{**call["arguments"], "data": values})
        assert made["warnings"] == []
        found = await good(client, "get_design", designId=made["designId"])
        assert (found["design"]["width"], found["design"]["height"]) == (1000, 1400)
        written = " ".join(one.get("text", "") for one in found["elements"])
        # No fact is lost and no placeholder or sample is left.
        assert all(value in written for value in values.values())
        assert found["fields"] == []
        samples = [one["examples"][0] for one in best["slots"]["properties"].values()]
        assert not any(sample in written for sample in samples)

    studio.tell(story)


def test_slots_may_stay_empty_and_unknown_styles_are_refused(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        told = await good(client, "generate_design", prompt="an instagram sale post")
        best = told["templates"][0]
        values = dict.fromkeys(best["slots"]["properties"], "") | {"title": "Sale"}
        made = await good(client, "apply_template", templateId=best["id"], data=values)
        assert made["warnings"] == []
        said = await refused(
            client, "apply_template", templateId=best["id"], data=values, style="groovy"
        )
        assert "'groovy'" in said and "pastel" in said

    studio.tell(story)


def test_templates_of_the_caller_are_found_too(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=text("t", "{{plant}}"))
        made = await good(client, "create_template", designId=id, name="Seed packet")
        told = await good(client, "generate_design", prompt="a seed packet for radishes")
        assert told["templates"][0]["id"] == made["id"]
        assert list(told["templates"][0]["slots"]["properties"]) == ["plant"]

    studio.tell(story)


def test_a_message_gets_the_elements_and_the_call_that_changes_them(studio: SharedStudio) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        title = text("t", "Title", name="title", fontSize=30)
        await good(client, "add_element", designId=id, element=title)
        for where in ({"context": {"designId": id}}, {"context": id}, {"designId": id}):
            told = await good(
                client, "chat_with_civi", message="move the title down, navy background", **where
            )
            assert told["version"] == 2 and "fontSize" in told["outline"] and told["cannot"]
        call = told["next"]
        assert (call["tool"], call["arguments"]["designId"]) == ("edit_design", id)
        operations: list[dict[str, Any]] = [
            {"op": "move", "elementIds": ["t"], "dy": 40},
            {"op": "canvas", "background": "navy", "name": "Night"},
            {"op": "update", "elementId": "t", "updates": {"fill": "#ffffff"}},
        ]
        made = await good(client, call["tool"], designId=id, operations=operations)
        assert (made["version"], made["warnings"]) == (3, [])
        found = await good(client, "get_design", designId=id)
        assert (found["background"], found["design"]["name"]) == ("navy", "Night")
        wrong = [{"op": "canvas", "background": "no colour"}]
        await refused(client, "edit_design", designId=id, operations=wrong)
        await refused(client, "edit_design", designId=id, operations=[{"op": "canvas"}])
        free = await good(client, "chat_with_civi", message="a menu for our cafe")
        assert free["templates"][0]["id"] == "menu" and "designId" not in free
        await refused(client, "chat_with_civi", message="hi", designId="nobody")

    studio.tell(story)
