"""The tools generate_design and chat_with_civi: built-in rules, or the client's model."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from dovetail import Context, Server, ToolError, ToolResult
from dovetail_design import render_jobs
from dovetail_design.answers import answer, tool
from dovetail_design.canvases import Canvas, to_design
from dovetail_design.design_tools import new_design
from dovetail_design.inputs import ApiKey, Side
from dovetail_design.operations import Operation, apply_operations
from dovetail_design.render_jobs import Composed
from dovetail_design.result_views import changed, show_design, warnings_of
from dovetail_design.results import ChatAnswer, Generated
from dovetail_design.sampled_designs import (
    ask_for_design,
    ask_for_operations,
    offers_sampling,
)
from dovetail_design.storage import State
from dovetail_design.studio import Caller, Change, Studio, caller_of
from dovetail_serverkit.tool_descriptions import CHANGES, EDITS

__all__ = ["add_ai_tools"]

_Method = Annotated[
    Literal["auto", "rules", "sampling"],
    "auto: the client's model if it supports sampling, else rules. rules: only built-in rules.",
]
_Words = Annotated[str, Meta(min_length=1, max_length=4_000)]


def add_ai_tools(server: Server, studio: Studio) -> None:
    """Register them."""

    @tool(
        server,
        "generate_design",
        "Create a design from a description. Built-in rules choose a template and fill it, or the "
        "client's model creates the layout if the client supports sampling; `method` in the "
        "result says which. Put the content into the prompt: titles in quotes, dates, names.",
        CHANGES,
        Generated,
    )
    async def generate_design(
        ctx: Context,
        prompt: _Words,
        width: Annotated[Side | None, "Default: the width of the template, or 1080."] = None,
        height: Annotated[Side | None, "Default: the height of the template, or 1080."] = None,
        style: Annotated[
            Annotated[str, Meta(max_length=200)] | None, "For example dark, minimal, warm."
        ] = None,
        method: _Method = "auto",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        _check_method(ctx, method)
        state: State | None = None
        if method != "rules" and offers_sampling(ctx):
            state = await ask_for_design(ctx, prompt, (width or 1080, height or 1080), style)
        used: Literal["rules", "sampling"] = "rules" if state is None else "sampling"
        return await asyncio.to_thread(
            _keep, studio, caller_of(ctx), state, (prompt, width, height, style), used
        )

    @tool(
        server,
        "chat_with_civi",
        "Change a design with instructions in plain words ('make the title bigger', 'blue "
        "background', 'align left'). Built-in rules handle simple instructions; others go to the "
        "client's model if the client supports sampling. The result says which was used and what "
        "was done. Without a design it lists what it can do.",
        EDITS,
        ChatAnswer,
    )
    async def chat_with_civi(
        ctx: Context,
        message: _Words,
        context: Annotated[
            dict[str, Any] | str | None,
            'The design to change: {"designId": "..."}, or only its id.',
        ] = None,
        designId: Annotated[
            Annotated[str, Meta(min_length=1, max_length=100)] | None, "Shorthand for context."
        ] = None,
        apply: Annotated[bool, "false: report the changes without making them."] = True,
        method: _Method = "auto",
        apiKey: ApiKey = None,
    ) -> ToolResult:
        _check_method(ctx, method)
        id = designId or (context.get("designId") if isinstance(context, dict) else context)
        caller = caller_of(ctx)
        state: State | None = None
        if id is not None:
            _, state = await asyncio.to_thread(studio.load, caller, str(id))
        sampled = None
        if state is not None and method != "rules" and offers_sampling(ctx):
            sampled = await ask_for_operations(ctx, message, state)
        return await asyncio.to_thread(
            _chat, studio, caller, (None if id is None else str(id), state), message, sampled, apply
        )


def _check_method(ctx: Context, method: str) -> None:
    if method == "sampling" and not offers_sampling(ctx):
        raise ToolError('This client does not support sampling; pass method "rules"')


def _keep(
    studio: Studio,
    caller: Caller,
    state: State | None,
    asked: tuple[str, int | None, int | None, str | None],
    method: Literal["rules", "sampling"],
) -> ToolResult:
    template = None
    text = "Made by the client's model."
    if state is None:
        state, text, template = _by_rules(studio, *asked)
    name = state["name"] or asked[0].strip().splitlines()[0][:80]
    state = {**state, "name": name, "description": ""}
    to_design(state)
    with studio.store.writing() as writer:
        record = writer.add_design(new_design("PRIVATE", caller.owner), state, caller.owner)
    change = Change(record, state, [element["id"] for element in state["elements"]])
    told = changed(studio, change, f"{text} Use render_preview to see it.")
    return answer(
        Generated(
            **{name: getattr(told, name) for name in told.__struct_fields__},
            method=method,
            design=show_design(record),
            template=template,
        )
    )


def _by_rules(
    studio: Studio, prompt: str, width: int | None, height: int | None, style: str | None
) -> tuple[State, str, str]:
    """Return the state, the method that was used and the template."""
    made = studio.renderer.run(
        render_jobs.compose,
        prompt,
        width,
        height,
        style,
        returns=Composed,
        kept="; nothing was created",
    )
    canvas = Canvas({"width": made.width, "height": made.height, "elements": []})
    for element in made.elements:
        canvas.add(element)
    state = {**canvas.state(), "name": made.name, "background": made.background}
    return state, made.explanation, made.template


def _chat(
    studio: Studio,
    caller: Caller,
    design: tuple[str | None, State | None],
    message: str,
    sampled: tuple[str, list[dict[str, Any]]] | None,
    apply: bool,
) -> ToolResult:
    id, state = design
    background = None
    if sampled is not None:
        reply, operations = sampled
    elif state is None:
        known = studio.renderer.run(render_jobs.list_instructions, returns=list[str])
        reply = f"Pass designId to select a design. I understand, for example: {'; '.join(known)}."
        operations = []
    else:
        reply, operations, background = studio.renderer.run(
            render_jobs.advise,
            message,
            state,
            returns=tuple[str, list[dict[str, Any]], str | None],
        )
    result = ChatAnswer(
        reply=reply,
        method="rules" if sampled is None else "sampling",
        design_id=id,
        version=None,
        element_ids=[],
        warnings=[],
        operations=operations[:50],
        background=background,
        applied=False,
    )
    if id is None or not apply or not (operations or background):
        return answer(result)

    def edit(canvas: Canvas) -> str:
        apply_operations(canvas, msgspec.convert(operations, list[Operation]))
        if background is not None:
            canvas.set(background=background)
        return message[:200]

    change = studio.change(caller, id, "chat_with_civi", edit)
    result.version = change.record.version
    result.element_ids = change.element_ids[:200]
    result.warnings = warnings_of(studio, change)[0]
    result.applied = change.is_new
    return answer(result)
