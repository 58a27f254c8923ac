"""A server of our own with one of everything, for tests of the client and the command line."""

from __future__ import annotations

import os
from dataclasses import dataclass

from dovetail import Context, Image, Server, ToolError

server = Server("own", version="1.0", title="Our own", instructions="Use add for sums.")
_hidden = Server("hidden")


@dataclass
class Branch:
    name: str


@dataclass
class Profile:
    name: str
    tags: list[str]
    age: int | None = None


@server.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    And more words that no table shows.
    """
    return a + b


@server.tool
def profile(name: str, tags: list[str], age: int | None = None) -> Profile:
    """Return something structured."""
    return Profile(name, tags, age)


@server.tool
def picture() -> list[Image | str]:
    """Return a picture and a word."""
    return [Image(b"\x89PNG" * 1000, "image/png"), "there"]


@server.tool
def fail(why: str) -> str:
    """Fail with a reason."""
    raise ToolError(why)


@server.tool
def chatter() -> str:
    """Print where no message may be."""
    print("a stray line")  # noqa: T201 - that is the point
    return f"{os.environ.get('CHATTER', 'quiet')} in {os.getcwd()}"


@server.tool
async def climb(steps: int, ctx: Context) -> str:
    """Report every step."""
    for step in range(steps):
        await ctx.progress(step + 1, steps, f"step {step + 1}")
    return "top"


@server.tool
async def deploy(ctx: Context) -> str:
    """Ask the user for a branch."""
    answer = await ctx.elicit("Which branch?", Branch)
    return f"{answer.action} {answer.data.name}" if answer.data else answer.action


@server.tool
async def capital(ctx: Context) -> str:
    """Ask the model for a capital."""
    answer = await ctx.sample("Capital?", max_tokens=5, system_prompt="Be brief.")
    return f"{answer.text} says {answer.model}"


@server.tool
async def folders(ctx: Context) -> str:
    """Ask the client for its roots."""
    return " ".join(root.uri for root in await ctx.roots())


@server.tool
def touch(uri: str) -> str:
    """Tell subscribers that a resource changed."""
    server.resource_updated(uri)
    return "touched"


@server.resource("memo://today")
def today() -> str:
    """What is on today."""
    return "rain"


@server.resource("memo://days/{day}")
def day(day: str) -> str:
    """What was on a day."""
    return f"sun on {day}"


@server.prompt
def review(code: str, tone: str = "kind") -> str:
    """Review some code."""
    return f"Review {code}, be {tone}"
