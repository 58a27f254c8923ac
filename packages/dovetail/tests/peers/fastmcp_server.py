"""A server written with FastMCP: what it does its own way."""

from __future__ import annotations

from fastmcp import Context, FastMCP

server = FastMCP("fastmcp-peer", version="4.5.6", list_page_size=2)


@server.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def profile(name: str, tags: list[str]) -> dict[str, object]:
    """Return something structured."""
    return {"name": name, "tags": tags}


@server.tool
async def climb(steps: int, ctx: Context) -> str:
    """Report every step."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "top"


@server.tool
async def remark(text: str, ctx: Context) -> str:
    """Log a remark."""
    await ctx.warning(text, logger_name="remarks")
    return "logged"


@server.tool
async def confirm(ctx: Context) -> str:
    """Ask the user; this peer can do so in the legacy era only."""
    answer = await ctx.elicit("Sure?", str)
    return f"{answer.action} {getattr(answer, 'data', None)}"


@server.resource("memo://today")
def today() -> str:
    """What is on today."""
    return "rain"


@server.resource("memo://days/{day}")
def day(day: str) -> str:
    """What was on a day."""
    return f"sun on {day}"


@server.prompt
def review(code: str) -> str:
    """Review some code."""
    return f"Review {code}"


if __name__ == "__main__":
    server.run(show_banner=False)
