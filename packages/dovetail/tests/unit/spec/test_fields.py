"""Projection: results have only the members of the revision."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import Struct

from dovetail.spec import models
from dovetail.spec.fields import (
    ENDED_FIELDS,
    NEWER_CONTENT_FIELDS,
    NEWER_FIELDS,
    has_all_content_fields,
    project,
    trim,
)
from dovetail.spec.revisions import (
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    Revision,
)

ICONS = [models.Icon(src="https://a/b.png")]
ANNOTATIONS = models.Annotations(priority=0.5, last_modified="2025-01-01T00:00:00Z")

FULL: list[Struct] = [
    models.Implementation(
        name="n", title="t", version="1", description="d", website_url="https://a", icons=ICONS
    ),
    models.Tool(
        name="n",
        title="t",
        description="d",
        icons=ICONS,
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        annotations=models.ToolAnnotations(title="t"),
        execution=models.ToolExecution(task_support="optional"),
        meta={"a": 1},
    ),
    models.Prompt(
        name="n",
        title="t",
        description="d",
        icons=ICONS,
        arguments=[models.PromptArgument(name="a", title="t", description="d", required=True)],
        meta={"a": 1},
    ),
    models.PromptArgument(name="a", title="t", description="d", required=True),
    models.Resource(
        uri="a://b",
        name="n",
        title="t",
        description="d",
        mime_type="text/plain",
        icons=ICONS,
        annotations=ANNOTATIONS,
        size=1,
        meta={"a": 1},
    ),
    models.ResourceTemplate(
        uri_template="a://{b}",
        name="n",
        title="t",
        description="d",
        mime_type="text/plain",
        icons=ICONS,
        annotations=ANNOTATIONS,
        meta={"a": 1},
    ),
    models.Annotations(audience=["user"], priority=0.5, last_modified="2025-01-01T00:00:00Z"),
]

# What each revision has, from its schema.json; a revision that is not named adds nothing.
MEMBERS: dict[type[Struct], dict[Revision, set[str]]] = {
    models.Implementation: {
        V2024_11_05: {"name", "version"},
        V2025_06_18: {"title"},
        V2025_11_25: {"description", "icons", "websiteUrl"},
    },
    models.Tool: {
        V2024_11_05: {"name", "description", "inputSchema"},
        V2025_03_26: {"annotations"},
        V2025_06_18: {"_meta", "outputSchema", "title"},
        V2025_11_25: {"icons", "execution"},
    },
    models.Prompt: {
        V2024_11_05: {"name", "description", "arguments"},
        V2025_06_18: {"_meta", "title"},
        V2025_11_25: {"icons"},
    },
    models.PromptArgument: {
        V2024_11_05: {"name", "description", "required"},
        V2025_06_18: {"title"},
    },
    models.Resource: {
        V2024_11_05: {"uri", "name", "description", "mimeType", "annotations", "size"},
        V2025_06_18: {"_meta", "title"},
        V2025_11_25: {"icons"},
    },
    models.ResourceTemplate: {
        V2024_11_05: {"uriTemplate", "name", "description", "mimeType", "annotations"},
        V2025_06_18: {"_meta", "title"},
        V2025_11_25: {"icons"},
    },
    models.Annotations: {
        V2024_11_05: {"audience", "priority"},
        V2025_06_18: {"lastModified"},
    },
}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("model", FULL, ids=lambda model: type(model).__name__)
def test_a_listing_has_exactly_the_members_of_the_revision(
    model: Struct, revision: Revision
) -> None:
    history = MEMBERS[type(model)]
    known = set().union(*(new for since, new in history.items() if since.order <= revision.order))
    ended = ENDED_FIELDS.get(type(model), {})
    known -= {name for name, until in ended.items() if until.order < revision.order}
    assert project(model, revision).keys() == known


def test_the_example_of_every_model_has_all_of_its_members() -> None:
    assert {type(model) for model in FULL} == MEMBERS.keys() == NEWER_FIELDS.keys()
    for model in FULL:
        assert None not in [getattr(model, name) for name in model.__struct_fields__]


def test_the_arguments_of_a_prompt_are_projected_too() -> None:
    [prompt] = [model for model in FULL if isinstance(model, models.Prompt)]
    assert project(prompt, V2025_03_26)["arguments"] == [
        {"name": "a", "description": "d", "required": True}
    ]
    assert project(prompt, V2025_06_18)["arguments"][0]["title"] == "t"
    assert "arguments" not in project(models.Prompt(name="n"), V2025_06_18)


@pytest.mark.parametrize("kind", [models.Resource, models.ResourceTemplate])
def test_the_annotations_of_a_resource_are_projected_too(kind: type[Struct]) -> None:
    [resource] = [model for model in FULL if type(model) is kind]
    assert project(resource, V2025_03_26)["annotations"] == {"priority": 0.5}
    assert project(resource, V2025_06_18)["annotations"].keys() == {"priority", "lastModified"}


def test_projecting_does_not_change_the_model() -> None:
    tool = models.Tool(name="n", title="t", input_schema={}, meta={"a": 1})
    project(tool, V2024_11_05)
    assert (tool.title, tool.meta) == ("t", {"a": 1})


# -- blocks of an answer --------------------------------------------------------------------------

BLOCKS: list[Struct] = [
    models.TextContent(text="t", annotations=ANNOTATIONS, meta={"a": 1}),
    models.ImageContent(data="", mime_type="image/png", annotations=ANNOTATIONS, meta={"a": 1}),
    models.AudioContent(data="", mime_type="audio/wav", annotations=ANNOTATIONS, meta={"a": 1}),
    models.EmbeddedResource(
        resource=models.TextContents(uri="a://b", text="t"), annotations=ANNOTATIONS, meta={"a": 1}
    ),
    models.ResourceLink(uri="a://b", name="n", icons=ICONS, annotations=ANNOTATIONS, meta={"a": 1}),
    ANNOTATIONS,
]

# Member -> the first revision whose schema.json has it; a block that is younger starts with all.
SINCE = {"_meta": V2025_06_18, "lastModified": V2025_06_18, "icons": V2025_11_25}
BORN = {models.AudioContent: V2025_03_26, models.ResourceLink: V2025_06_18}


def members(block: Struct) -> set[str]:
    """Dotted names of the members that would be sent."""
    value = msgspec.to_builtins(block)
    annotations = value.get("annotations", {})
    return {*value, *(f"annotations.{name}" for name in annotations)}


# A block that the revision does not have is replaced as a whole, elsewhere.
@pytest.mark.parametrize(
    ("block", "revision"),
    [
        pytest.param(block, revision, id=f"{type(block).__name__}-{revision}")
        for block in BLOCKS
        for revision in REVISIONS
        if BORN.get(type(block), V2024_11_05).order <= revision.order
    ],
)
def test_a_block_has_exactly_the_members_of_the_revision(block: Struct, revision: Revision) -> None:
    known = {
        name
        for name in members(block)
        if SINCE.get(name.rpartition(".")[2], V2024_11_05).order <= revision.order
    }
    assert members(trim(block, revision)) == known


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_trimming_is_skipped_for_revisions_with_all_members(revision: Revision) -> None:
    knows_all = all(since.order <= revision.order for since in SINCE.values())
    assert has_all_content_fields(revision) is knows_all
    assert {type(block) for block in BLOCKS} == NEWER_CONTENT_FIELDS.keys()
    if knows_all:
        assert all(trim(block, revision) is block for block in BLOCKS)


def test_trimming_does_not_change_the_original_block() -> None:
    block = models.TextContent(text="t", annotations=ANNOTATIONS, meta={"a": 1})
    assert trim(block, V2024_11_05) is not block
    assert (block.annotations, block.meta) == (ANNOTATIONS, {"a": 1})
    plain = models.TextContent(text="t", annotations=models.Annotations(priority=1))
    assert trim(plain, V2024_11_05) is plain
