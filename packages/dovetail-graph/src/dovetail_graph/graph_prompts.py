"""Prompts around a project's memory: begin it, ask it, add to it, review it.

Arguments of prompts are texts, so lists are given with commas and yes or no as true or false.
"""

from __future__ import annotations

from typing import Annotated, Literal

from dovetail import Server
from dovetail_graph.graph_resources import complete_name
from dovetail_graph.memory import Memory
from dovetail_graph.moments import View
from dovetail_graph.vocabulary import PRESETS

__all__ = ["add_graph_prompts"]

_Flag = Literal["true", "false"]


def add_graph_prompts(server: Server, memory: Memory) -> None:
    """Register them."""
    kinds = memory.vocabulary.entity_types
    types = f" Types of entities: {', '.join(kinds)}." if kinds else ""

    @server.prompt(name="init-project", title="Begin a project")
    def init_project(
        projectName: Annotated[str, "Name of the project."],
        description: Annotated[str, "What it is about."],
        goals: Annotated[str, "Its goals, with commas between them."] = "",
    ) -> str:
        """Put a new project into memory."""
        wanted = "".join(f"\n- {goal}" for goal in _split(goals))
        return (
            f"Put the project {projectName!r} into memory: {description}"
            + (f"\n\nGoals:{wanted}" if wanted else "")
            + "\n\nFirst call search_nodes with the name, so that nothing is recorded twice. Then "
            "create_entities for the project and each of its main parts, with short observations, "
            f"and create_relations between them.{types} Show me what you recorded."
        )

    @server.prompt(name="get-context", title="Get context")
    def get_context(
        query: Annotated[str, "What you are about to do."],
        entityTypes: Annotated[str, "Only these types, with commas between them."] = "",
        includeHistory: Annotated[_Flag, "Look at earlier versions as well."] = "false",
    ) -> str:
        """Collect what memory knows for a piece of work."""
        only = _split(entityTypes)
        narrowed = f" with entity_types {only}" if only else ""
        history = (
            " Call get_entity_history for the most relevant ones and say what changed and when."
            if includeHistory == "true"
            else ""
        )
        return (
            f"I am about to: {query}\n\nCollect what memory knows: semantic_search{narrowed}, then "
            "open_nodes for the best results and traverse_graph for what they depend on."
            f"{history} Tell apart what is certain from what has a low or faded confidence, and "
            "name what is missing."
        )

    @server.prompt(name="remember-work", title="Remember work")
    def remember_work(
        workType: Annotated[str, "Type of the entity, like feature or decision."],
        name: Annotated[str, "Name of the entity."],
        description: Annotated[str, "What was done."],
        implementsTask: Annotated[str, "Task that it implements."] = "",
        partOfFeature: Annotated[str, "Feature that it is part of."] = "",
        dependsOn: Annotated[str, "What it depends on, with commas between."] = "",
        keyDecisions: Annotated[str, "Decisions, with commas between them."] = "",
    ) -> str:
        """Record finished work and what it is connected to."""
        relations = [("implements", one) for one in _split(implementsTask)]
        relations += [("part_of", one) for one in _split(partOfFeature)]
        relations += [("depends_on", one) for one in _split(dependsOn)]
        lines = "".join(f"\n- {name} {kind} {target}" for kind, target in relations)
        decisions = "".join(f"\n- {one}" for one in _split(keyDecisions))
        return (
            f"Remember this work: {name!r} ({workType}): {description}\n\nCall create_entities "
            "with observations of one fact each."
            + (f" Then create_relations:{lines}" if lines else "")
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
        entityName: Annotated[str, "The entity under review."],
        includeRelated: Annotated[_Flag, "Look at what is around it."] = "true",
        includeDecisions: Annotated[_Flag, "Look for decisions about it."] = "true",
    ) -> str:
        """Collect what a review of an entity needs."""
        steps = [f"open_nodes with names [{entityName!r}]", "get_entity_history of it"]
        if includeRelated == "true":
            steps.append("traverse_graph from it with depth 2")
        if includeDecisions == "true":
            steps.append("search_nodes for decisions about it (entityTypes ['decision'])")
        listed = "".join(f"\n{number}. {step}" for number, step in enumerate(steps, 1))
        return (
            f"Prepare a review of {entityName!r}:{listed}\n\nSummarise what it is for, what it "
            "depends on, what was decided and why, what changed last, and what contradicts what."
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
