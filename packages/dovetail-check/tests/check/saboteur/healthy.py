"""A server that conforms to every clause and has every feature, so each rule observes something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Annotated, Any

from dovetail import (
    Accepted,
    Annotations,
    Audio,
    Cancelled,
    Context,
    Declined,
    EmbeddedResource,
    Header,
    Icon,
    Image,
    Message,
    Options,
    ResourceLink,
    SamplingMessage,
    Server,
    Text,
    Tool,
    ToolAnnotations,
    ToolResultContent,
)
from dovetail.errors import RpcError, ToolError

__all__ = ["server"]

server = Server(
    "healthy",
    version="1.0.0",
    instructions="Nothing here is broken.",
    icons=[Icon(src="https://example.com/healthy.png")],
    # An extension without effect.
    extensions={"com.example/quiet": {}},
    # Lists have several pages, and tasks are polled often.
    options=Options(page_size=5, state="memory://", task_poll=0.05),
)
READ_ONLY = ToolAnnotations(read_only_hint=True)


@dataclass
class Sum:
    total: int


@server.tool(annotations=READ_ONLY)
async def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(a + b)


@server.tool(annotations=READ_ONLY)
async def picture() -> Image:
    """A picture."""
    return Image(b"\x89PNG\r\n\x1a\n", "image/png")


@server.tool(annotations=READ_ONLY)
async def near(region: Annotated[str, Header("Region")]) -> str:
    """Where something is."""
    return f"near {region}"


@server.tool(annotations=READ_ONLY)
async def nearest(limit: Annotated[int, Header("Limit")] = 1) -> str:
    """The nearest things, as many as wanted."""
    return f"{limit} of them"


@server.tool(annotations=READ_ONLY)
async def count(ctx: Context, to: int = 3) -> int:
    """Count, and say how far it is."""
    for n in range(1, to + 1):
        await ctx.progress(n, to, f"{n} of {to}")
        ctx.log.info(f"counted {n}", logger="counter")
    return to


@dataclass
class Name:
    name: str


@server.tool(annotations=READ_ONLY)
async def greet(ctx: Context) -> str:
    """Ask for a name."""
    answer = await ctx.elicit("What is your name?", Name, key="name")
    return f"Hello {answer.data.name}" if answer.data is not None else "Hello you"


@server.tool(annotations=READ_ONLY)
async def references() -> list[ResourceLink | EmbeddedResource]:
    """A link to a note, and one to take along."""
    return [
        ResourceLink(uri="note://first", name="first"),
        EmbeddedResource("note://second", "second note", "text/plain"),
    ]


@server.tool(annotations=READ_ONLY)
async def refresh() -> str:
    """Tell whoever listens that a note is new."""
    server.resource_updated("note://first")
    return "told"


@server.tool(annotations=READ_ONLY)
async def consult(ctx: Context, topic: str = "anything") -> list[str]:
    """Ask for all that the client can be asked for, at once; it may be nothing."""
    declared = ctx.client.capabilities
    questions: list[Awaitable[Any]] = []
    if "url" in declared.get("elicitation", {}):
        page = f"https://example.org/{topic}"
        questions.append(ctx.elicit("Please have a look.", url=page, key="page"))
    if "sampling" in declared:
        questions.append(ctx.sample(f"What of {topic}?", key="model"))
    if "roots" in declared:
        questions.append(ctx.roots(key="folders"))
    answers = await asyncio.gather(*questions)
    # Answers of the client do not belong in the result.
    actions = [
        answer.action for answer in answers if isinstance(answer, Accepted | Declined | Cancelled)
    ]
    return [f"{len(answers)} answers on {topic}", *actions]


@server.tool(annotations=READ_ONLY)
async def research(ctx: Context) -> str:
    """Let the client's model use a tool, three times at most."""
    if "tools" not in ctx.client.capabilities.get("sampling", {}):
        return "there is no model that uses tools"
    schema = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
    lookup = Tool(name="lookup", description="Look up a word", input_schema=schema)
    said: list[str | Message | SamplingMessage] = ["What is a dovetail?"]
    for _ in range(3):
        reply = await ctx.sample(said, tools=[lookup])
        if not reply.tool_uses:
            return f"found out in {len(reply.text)} letters"
        said.append(SamplingMessage(role="assistant", content=[*reply.blocks]))
        found = [
            ToolResultContent(tool_use_id=use.id, content=[Text("a joint").to_block()])
            for use in reply.tool_uses
        ]
        said.append(SamplingMessage(role="user", content=[*found]))
    return "not found out"


@server.tool(annotations=READ_ONLY)
async def look_up_account(ctx: Context) -> str:
    """Needs a visit to a page first, where a client can be told so by an error."""
    if ctx.revision != "2025-11-25" or "url" not in ctx.client.capabilities.get("elicitation", {}):
        return "nobody's account"
    page = {
        "mode": "url",
        "elicitationId": "account-1",
        "url": "https://example.org/connect",
        "message": "Please connect your account.",
    }
    raise RpcError("An account is needed", code=-32042, data={"elicitations": [page]})


@server.tool
async def erase(what: str) -> str:
    """Not read-only: must never be reached by a check."""
    raise AssertionError(f"erase({what!r}) was called")


@server.tool(annotations=READ_ONLY, task="optional")
async def measure(length: int = 3) -> str:
    """Takes a moment."""
    await asyncio.sleep(0.15)
    return f"{length} long"


@server.tool(annotations=READ_ONLY, task="optional")
async def interview(ctx: Context) -> str:
    """Ask for a name once more, of those who can be asked."""
    if "elicitation" not in ctx.client.capabilities:
        return "nobody to ask"
    answer = await ctx.elicit("Who are you?", Name, key="interviewed")
    return f"the answer was {answer.action}"


@server.tool(annotations=READ_ONLY, task="optional")
async def stumble() -> str:
    """Never succeeds."""
    raise ToolError("it stumbled")


@server.tool(annotations=READ_ONLY, task="required")
async def survey() -> str:
    """Only ever a task."""
    return "surveyed"


@server.resource(
    "note://first",
    annotations=Annotations(audience=["user"], priority=0.5, last_modified="2025-01-12T15:00:58Z"),
)
async def first() -> str:
    """A note."""
    return "first note"


@server.resource("note://blob", mime_type="application/octet-stream")
async def blob() -> bytes:
    """Some bytes."""
    return bytes(range(16))


@server.resource("file:///notes/{name}")
async def file(name: str) -> str | None:
    """A file of a folder."""
    return "a file" if name == "sample.txt" else None


@server.resource("note://{id}")
async def note(id: str) -> str:
    """Any note."""
    return f"note {id}"


@server.prompt
async def review(code: str) -> str:
    """Review some code."""
    return f"Please review: {code}"


@server.complete(review, "code")
async def complete_code(typed: str) -> list[str]:
    return [word for word in ("print(1)", "print(2)") if word.startswith(typed)]


@server.prompt
async def show() -> list[Message]:
    """Content of every kind."""
    return [
        Message(Image(b"\x89PNG\r\n\x1a\n", "image/png")),
        Message(Audio(b"RIFF\x00\x00\x00\x00WAVE", "audio/wav")),
        Message(EmbeddedResource("note://first", "first note", "text/plain")),
    ]
