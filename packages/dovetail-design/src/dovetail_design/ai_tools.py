"""The tools generate_design and chat_with_civi.

The caller is a language model and understands the request better than rules do. So the tools
return what it needs for the work (templates with their slots, the elements of a design) and the
one call that completes it.
"""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from dovetail import Context, Param, ToolResult
from dovetail_design.answers import MAX_CHARS, Registrar, answer, tool
from dovetail_design.design_warnings import describe_state
from dovetail_design.generating.choosing import rank_templates
from dovetail_design.generating.recolouring import HUES, MANNERS, read_style
from dovetail_design.inputs import ApiKey, Side
from dovetail_design.result_views import fit_budget
from dovetail_design.results import (
    ChatAnswer,
    NextCall,
    Suggested,
    TemplateChoice,
    TemplateView,
)
from dovetail_design.studio import Caller, Studio, caller_of, is_owner
from dovetail_design.template_tools import show_templates
from dovetail_serverkit.answer_size import AnswerBudget
from dovetail_serverkit.tool_descriptions import READS

__all__ = ["add_ai_tools"]

_MOST_TEMPLATES = 3
_LONGEST_EXAMPLE = 200
_LIMITS = (
    "Draw or find new photos: pictures come from upload_asset or the search_* tools.",
    "Fetch anything from the network, animate, or create video.",
)
_OPERATIONS = [
    {"op": "update", "elementId": "<id>", "updates": {"<property>": "<value>"}},
    {"op": "add", "element": {"type": "<type>", "x": 0, "y": 0, "width": 0, "height": 0}},
    {"op": "delete", "elementIds": ["<id>"]},
    {"op": "canvas", "background": "<colour>"},
]
_FILL = (
    "Nothing was created. Choose a template, fill all of its slots with what the user said "
    '("" leaves one out) and call apply_template; or begin with create_design.'
)
_BEGIN = "Nothing was created. There is no template; begin with create_design."
_Words = Annotated[str, Meta(min_length=1, max_length=4_000)]


def add_ai_tools(tools: Registrar, studio: Studio) -> None:
    """Register them."""

    @tool(
        tools,
        "generate_design",
        "Find the best templates for a design that is described in words. Returns their slots as "
        "a JSON Schema, the apply_template call that creates the design from your values, and "
        "what cannot be done. Changes nothing.",
        READS,
        Suggested,
    )
    def generate_design(
        ctx: Context,
        prompt: _Words,
        width: Side | None = None,
        height: Side | None = None,
        style: Annotated[
            Annotated[str, Meta(max_length=200)] | None, "For example dark, minimal, blue."
        ] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        return answer(_find(studio, caller_of(ctx), prompt, (width, height), style or ""))

    @tool(
        tools,
        "chat_with_civi",
        "Get what you need to change a design as the message asks: its elements with their ids "
        "and problems, and the edit_design call to fill in. Without a design: templates, as "
        "generate_design. Changes nothing.",
        READS,
        ChatAnswer,
    )
    def chat_with_civi(
        ctx: Context,
        message: _Words,
        context: Annotated[
            dict[str, Any] | str | None,
            '{"designId": "..."}, or only the id',
        ] = None,
        designId: Annotated[
            Annotated[str, Meta(min_length=1, max_length=100)] | None, Param(hidden=True)
        ] = None,
        apiKey: ApiKey = None,
    ) -> ToolResult:
        id = designId or (context.get("designId") if isinstance(context, dict) else context)
        caller = caller_of(ctx)
        if id is None:
            found = _find(studio, caller, message, (None, None), "")
            return answer(
                ChatAnswer(
                    message=f"No designId was given. {found.message}",
                    templates=found.templates,
                    next=found.next,
                    cannot=found.cannot,
                )
            )
        return answer(_explain(studio, caller, str(id)))


def _explain(studio: Studio, caller: Caller, id: str) -> ChatAnswer:
    record, state = studio.load(caller, id)
    outline, _ = describe_state(studio, state, "full", None, MAX_CHARS * 2 // 5, record.owner)
    cannot = list(_LIMITS)
    target = id
    if not is_owner(record, caller):
        cannot.insert(0, "Change this design: it belongs to another user. Duplicate it first.")
        target = "<designId of the copy>"
    return ChatAnswer(
        message="Nothing was changed. Put your changes into `operations` of the next call.",
        design_id=id,
        version=record.version,
        outline=outline,
        next=NextCall(
            tool="edit_design", arguments={"designId": target, "operations": _OPERATIONS}
        ),
        cannot=cannot,
    )


def _find(
    studio: Studio, caller: Caller, task: str, size: tuple[int | None, int | None], style: str
) -> Suggested:
    wanted = (size[0], size[1]) if size[0] and size[1] else None
    ranked = rank_templates(f"{task} {style}", show_templates(studio, caller), wanted)
    chosen = fit_budget([_choice(one) for one in ranked[:_MOST_TEMPLATES]], AnswerBudget(MAX_CHARS))
    _, unknown = read_style(style)
    cannot = list(_LIMITS)
    if unknown:
        cannot.insert(
            0,
            f"Apply the style {' '.join(unknown)!r} as a whole; style takes "
            f"{', '.join((*HUES, *MANNERS))}. Change other details with edit_design.",
        )
    return Suggested(
        message=_FILL if chosen else _BEGIN,
        templates=chosen,
        next=_next(chosen, size, " ".join(w for w in style.split() if w.lower() not in unknown)),
        cannot=cannot,
    )


def _next(
    chosen: list[TemplateChoice], size: tuple[int | None, int | None], style: str
) -> NextCall:
    if not chosen:
        return NextCall(tool="create_design", arguments={"name": "<name>"})
    best = chosen[0]
    arguments: dict[str, Any] = {
        "templateId": best.id,
        "width": size[0] or best.width,
        "height": size[1] or best.height,
        **({"style": style} if style else {}),
        "data": "<an object that fits the schema in slots>",
    }
    return NextCall(tool="apply_template", arguments=arguments)


def _choice(one: TemplateView) -> TemplateChoice:
    return TemplateChoice(
        id=one.id,
        name=one.name,
        description=one.description,
        width=one.width,
        height=one.height,
        slots={
            "type": "object",
            "properties": {
                slot: {"type": "string", "examples": [str(sample)[:_LONGEST_EXAMPLE]]}
                for slot, sample in one.slots.items()
            },
            "required": list(one.slots),
            "additionalProperties": False,
        },
    )
