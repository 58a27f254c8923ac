"""A server written with the official SDK: one of everything a client may meet, both eras."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import Message, UserMessage
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageResult,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

server = MCPServer("sdk-peer", version="1.2.3", instructions="Use add for sums.")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool(structured_output=False)
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


@server.tool()
def fail(why: str) -> str:
    """Fail with a reason."""
    raise ValueError(why)


@server.tool()
async def climb(steps: int, ctx: Context) -> str:
    """Report every step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "top"


@server.tool()
async def remark(text: str, ctx: Context) -> str:
    """Log a remark."""
    await ctx.log("debug", "too quiet to hear")
    await ctx.log("warning", text, logger_name="remarks")
    return "logged"


@server.tool()
async def wait_forever() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return "never"


@server.tool()
def leave(code: int) -> str:
    """End the process at once."""
    os.write(2, b"going down\n")
    os._exit(code)


class Branch(BaseModel):
    name: str


def ask_branch() -> Elicit[Branch]:
    return Elicit("Which branch?", Branch)


@server.tool()
def deploy(branch: Annotated[Branch, Resolve(ask_branch)]) -> str:
    """Ask the user for a branch."""
    return f"deployed {branch.name}"


def ask_model() -> Sample:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="Capital?"))
    return Sample([question], max_tokens=20, system_prompt="Be brief.")


@server.tool()
def capital(answer: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the model for a capital."""
    assert isinstance(answer.content, TextContent)
    return f"{answer.content.text} says {answer.model}"


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
def folders(roots: Annotated[ListRootsResult, Resolve(ask_roots)]) -> str:
    """Ask the client for its roots."""
    return " ".join(str(root.uri) for root in roots.roots)


@server.tool()
async def touch(uri: str, ctx: Context) -> str:
    """Tell subscribers that a resource and the tool list changed."""
    await ctx.notify_resource_updated(uri)
    await ctx.notify_tools_changed()
    return "touched"


@server.resource("memo://today", mime_type="text/plain")
def today() -> str:
    """What is on today."""
    return "rain"


@server.resource("memo://pixel", mime_type="image/png")
def pixel() -> bytes:
    """A few bytes."""
    return b"\x89PNG"


@server.resource("memo://days/{day}")
def day(day: str) -> str:
    """What was on a day."""
    return f"sun on {day}"


@server.prompt()
def review(code: str, tone: str = "kind") -> list[Message]:
    """Review some code."""
    return [UserMessage(f"Review {code}, be {tone}")]


@server.completion()  # type: ignore[no-untyped-call,untyped-decorator]
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    known = ["kind", "keen"] if isinstance(ref, PromptReference) else ["monday", "friday"]
    if context is not None and context.arguments:
        known = list(context.arguments.values())
    values = [value for value in known if value.startswith(argument.value)]
    return Completion(values=values, total=len(values), has_more=False)


if __name__ == "__main__":
    server.run()
