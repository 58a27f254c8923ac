from __future__ import annotations

from tests.check.saboteur.messages import first, result_of
from tests.check.saboteur.switch import Message, on_reply


@on_reply("tools.schema.shape", to="tools/list")
def a_description_is_a_number(reply: Message, request: Message) -> None:
    first(reply, "tools")["description"] = 5


@on_reply("tools.inputschema.valid", to="tools/list")
def an_input_schema_has_a_type_that_does_not_exist(reply: Message, request: Message) -> None:
    first(reply, "tools").get("inputSchema", {})["properties"] = {"a": {"type": "bogus"}}


@on_reply("tools.inputschema.root-object", to="tools/list")
def an_input_schema_is_of_an_array(reply: Message, request: Message) -> None:
    first(reply, "tools")["inputSchema"] = {"type": "array"}


@on_reply("tools.inputschema.no-params", to="tools/list")
def a_tool_without_parameters_accepts_any(reply: Message, request: Message) -> None:
    first(reply, "tools")["inputSchema"] = {"type": "object"}


@on_reply("tools.outputschema.root-object", to="tools/list")
def an_output_schema_is_a_bare_choice(reply: Message, request: Message) -> None:
    first(reply, "tools")["outputSchema"] = {"oneOf": [{"type": "object"}]}


@on_reply("tools.outputschema.valid", to="tools/list")
def an_output_schema_is_invalid(reply: Message, request: Message) -> None:
    first(reply, "tools")["outputSchema"] = {"type": "object", "required": "all"}


@on_reply("tools.name.length", to="tools/list")
def a_name_is_too_long(reply: Message, request: Message) -> None:
    first(reply, "tools")["name"] = "x" * 129


@on_reply("tools.name.charset", to="tools/list")
def a_name_has_an_umlaut(reply: Message, request: Message) -> None:
    first(reply, "tools")["name"] = "öffnen"


@on_reply("tools.name.no-special", to="tools/list")
def a_name_has_a_space(reply: Message, request: Message) -> None:
    first(reply, "tools")["name"] = "open file"


@on_reply("tools.name.unique", to="tools/list")
def two_tools_share_a_name(reply: Message, request: Message) -> None:
    tools = result_of(reply).get("tools", [])
    if len(tools) > 1:
        tools[1]["name"] = tools[0]["name"]


@on_reply("tools.annotations.types", to="tools/list")
def a_hint_is_a_text(reply: Message, request: Message) -> None:
    first(reply, "tools")["annotations"] = {"readOnlyHint": "yes"}


@on_reply("tools.annotations.coherent", to="tools/list")
def a_tool_is_read_only_and_destructive(reply: Message, request: Message) -> None:
    first(reply, "tools")["annotations"] = {"readOnlyHint": True, "destructiveHint": True}
