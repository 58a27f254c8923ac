"""Annotations as a model or as a plain dict, in both spellings."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Annotations, Server, ToolAnnotations
from dovetail.errors import UsageError
from dovetail.features.listing import read_annotations

WHERE = "tool 'search' (weather.py:12)"


@pytest.mark.parametrize(
    "given",
    [
        {"readOnlyHint": True, "title": "Search"},
        {"read_only_hint": True, "title": "Search"},
        ToolAnnotations(read_only_hint=True, title="Search"),
    ],
)
def test_a_dict_in_either_spelling_is_the_same_as_the_model(given: Any) -> None:
    wanted = ToolAnnotations(read_only_hint=True, title="Search")
    assert read_annotations(ToolAnnotations, given, WHERE) == wanted


def test_no_annotations_stay_none() -> None:
    assert read_annotations(ToolAnnotations, None, WHERE) is None
    assert read_annotations(Annotations, {}, WHERE) == Annotations()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"readOnly": True},
            "annotations has no key 'readOnly'; the keys are title, readOnlyHint, "
            "destructiveHint, idempotentHint, openWorldHint",
        ),
        ({"readOnlyHint": "yes"}, "annotations: Expected `bool | null`, got `str`"),
        (["readOnlyHint"], r"annotations is a dict or ToolAnnotations\(...\), got list"),
    ],
)
def test_a_wrong_dict_is_an_error_that_names_the_tool_and_the_key(
    given: Any, complaint: str
) -> None:
    with pytest.raises(UsageError, match=rf"^tool 'search' \(weather.py:12\): {complaint}"):
        read_annotations(ToolAnnotations, given, WHERE)


def test_tools_and_resources_take_dicts() -> None:
    server = Server("s")

    @server.tool(annotations={"readOnlyHint": True, "openWorldHint": False})
    async def look() -> str:
        return "x"

    @server.resource("notes://a", annotations={"audience": ["user"], "lastModified": "2025-01-01"})
    async def note() -> str:
        return "x"

    [tool] = server.tools.list()
    assert tool.annotations == ToolAnnotations(read_only_hint=True, open_world_hint=False)
    [resource] = server.resources.list()
    assert resource.annotations == Annotations(audience=["user"], last_modified="2025-01-01")
    wrong: Any = {"color": "red"}
    with pytest.raises(UsageError, match=r"tool 'look' \(test_annotations.py:\d+\): .* 'color'"):
        server.tool(look, annotations=wrong)
    with pytest.raises(UsageError, match=r"resource 'note' \(.*\): annotations has no key 'color'"):
        server.resources.add("notes://b", note, annotations=wrong)


def test_a_read_only_hint_in_a_dict_counts_for_permissions() -> None:
    server = Server("s")
    server.tool("reads", annotations={"readOnlyHint": True})(lambda: "x")
    server.tool("writes", annotations={"readOnlyHint": False})(lambda: "x")
    assert [tool.requirements.writes for tool in server.tools.registry] == [False, True]
