"""Prompts for a project's memory: start it, query it, add to it, review it.

Prompt arguments are strings, so lists are comma-separated and flags are "true" or "false".
"""

from __future__ import annotations

from typing import Annotated, Literal

from dovetail import Server
from dovetail_graph.graph_resources import complete_name
from dovetail_graph.memory import Memory
from dovetail_graph.timestamps import View
from dovetail_graph.vocabulary import PRESETS
from dovetail_serverkit.tool_sets import ToolSet

__all__ = ["add_graph_prompts"]

_Flag = Literal["true", "false"]

# The listed tool for the one that a prompt names.
_COMPACT = {
    "search_nodes": "memory_search",
    "semantic_search": "memory_search",
    "create_entities": "memory_edit (entities)",
    "create_relations": "memory_edit (relations)",
    "open_nodes": "memory_read (names)",
    "traverse_graph": "memory_read (depth)",
    "get_entity_history": "memory_read (history)",
}


def add_graph_prompts(server: Server, memory: Memory, shown: ToolSet = "default") -> None:
    """Register the prompts; they name the tools that are listed."""
    tool = _COMPACT if shown == "compact" else {name: name for name in _COMPACT}
    kinds = memory.vocabulary.entity_types
    types = f" Allowed entity types: {', '.join(kinds)}." if kinds else ""

    @server.prompt(name="init-project", title="Start a project")
    def init_project(
        projectName: Annotated[str, "Name of the project."],
        description: Annotated[str, "What it is about."],
        goals: Annotated[str, "Its goals, comma-separated."] = "",
    ) -> str:
        """Record a new project in memory."""
        wanted = "".join(f"\n- {goal}" for goal in _split(goals))
        return (
            f"Record the project {projectName!r} in memory: {description}"
            + (f"\n\nGoals:{wanted}" if wanted else "")
            + f"\n\nFirst call {tool['search_nodes']} with the name, so that nothing is recorded "
            f"twice. Then {tool['create_entities']} for the project and each of its main parts, "
            f"with short observations, and {tool['create_relations']} between them.{types} Show me "
            "what you recorded."
        )

    @server.prompt(name="get-context", title="Get context")
    def get_context(
        query: Annotated[str, "What you are about to do."],
        entityTypes: Annotated[str, "Only these entity types, comma-separated."] = "",
        includeHistory: Annotated[_Flag, "Include earlier versions."] = "false",
    ) -> str:
        """Collect what memory contains for a task."""
        only = _split(entityTypes)
        narrowed = f" with entity_types {only}" if only else ""
        history = (
            f" Call {tool['get_entity_history']} for the most relevant ones and say what changed "
            "and when."
            if includeHistory == "true"
            else ""
        )
        return (
            f"I am about to: {query}\n\nCollect what memory contains: {tool['semantic_search']}"
            f"{narrowed}, then {tool['open_nodes']} for the best results and "
            f"{tool['traverse_graph']} for what they depend on.{history} Separate what is certain "
            "from what has low or decayed confidence, and name what is missing."
        )

    @server.prompt(name="remember-work", title="Remember work")
    def remember_work(
        workType: Annotated[str, "Entity type, for example feature or decision."],
        name: Annotated[str, "Name of the entity."],
        description: Annotated[str, "What was done."],
        implementsTask: Annotated[str, "The task that it implements."] = "",
        partOfFeature: Annotated[str, "The feature that it is part of."] = "",
        dependsOn: Annotated[str, "What it depends on, comma-separated."] = "",
        keyDecisions: Annotated[str, "Decisions, comma-separated."] = "",
    ) -> str:
        """Record finished work and its relations."""
        relations = [("implements", one) for one in _split(implementsTask)]
        relations += [("part_of", one) for one in _split(partOfFeature)]
        relations += [("depends_on", one) for one in _split(dependsOn)]
        lines = "".join(f"\n- {name} {kind} {target}" for kind, target in relations)
        decisions = "".join(f"\n- {one}" for one in _split(keyDecisions))
        return (
            f"Remember this work: {name!r} ({workType}): {description}\n\nCall "
            f"{tool['create_entities']} with observations of one fact each."
            + (f" Then {tool['create_relations']}:{lines}" if lines else "")
            + (
                f"\n\nRecord each decision as an entity of type decision that relates_to it:"
                f"{decisions}"
                if decisions
                else ""
            )
            + "\n\nIf one of the entities is unknown, create it first. Report what was created, "
            "updated and rejected."
        )

    @server.prompt(name="review-context", title="Review context")
    def review_context(
        entityName: Annotated[str, "The entity to review."],
        includeRelated: Annotated[_Flag, "Include its neighbors."] = "true",
        includeDecisions: Annotated[_Flag, "Include decisions about it."] = "true",
    ) -> str:
        """Collect the context for a review of an entity."""
        steps = [
            f"{tool['open_nodes']} with names [{entityName!r}]",
            f"{tool['get_entity_history']} of it",
        ]
        if includeRelated == "true":
            steps.append(f"{tool['traverse_graph']} from it with depth 2")
        if includeDecisions == "true":
            decisions = "for decisions about it (entity_types ['decision'])"
            steps.append(f"{tool['search_nodes']} {decisions}")
        listed = "".join(f"\n{number}. {step}" for number, step in enumerate(steps, 1))
        return (
            f"Prepare a review of {entityName!r}:{listed}\n\nSummarise what it is for, what it "
            "depends on, what was decided and why, what changed last, and any contradictions."
        )

    _add_completions(server, memory)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _add_completions(server: Server, memory: Memory) -> None:
    def names(typed: str) -> list[str]:
        return complete_name(memory, typed)

    def types(typed: str) -> list[str]:
        with memory.store.reading() as reader:
            used = sorted(reader.count_types(View(reader.now()))[0])
        known = memory.vocabulary.entity_types or [*used, *(PRESETS["software"].entity_types or [])]
        return [one for one in dict.fromkeys(known) if one.lower().startswith(typed.lower())]

    def last_type(typed: str) -> list[str]:
        before, comma, last = typed.rpartition(",")
        return [f"{before}{comma}{one}" for one in types(last.strip())]

    def last_name(typed: str) -> list[str]:
        before, comma, last = typed.rpartition(",")
        return [f"{before}{comma}{one}" for one in names(last.strip())]

    def flags(typed: str) -> list[str]:
        return [one for one in ("true", "false") if one.startswith(typed)]

    for prompt, argument, completer in (
        ("get-context", "entityTypes", last_type),
        ("get-context", "includeHistory", flags),
        ("remember-work", "workType", types),
        ("remember-work", "name", names),
        ("remember-work", "implementsTask", names),
        ("remember-work", "partOfFeature", names),
        ("remember-work", "dependsOn", last_name),
        ("review-context", "entityName", names),
        ("review-context", "includeRelated", flags),
        ("review-context", "includeDecisions", flags),
    ):
        server.complete(prompt, argument)(completer)
