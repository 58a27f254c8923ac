"""A server that was written for FastMCP. Each comment shows the line as it was."""

# from fastmcp import Context, FastMCP
# from fastmcp.dependencies import Depends
# from fastmcp.exceptions import ToolError
from dovetail import Context, Depends, RouteRequest, Server, ToolError

BOOKS = {"1": "Dune", "2": "Emma", "3": "Middlemarch"}

# mcp = FastMCP("library", instructions="Find and lend books.")
mcp = Server("library", instructions="Find and lend books.")


def get_books() -> dict[str, str]:
    return BOOKS


# The decorators and signatures are the same.
@mcp.tool(annotations={"readOnlyHint": True})
async def find(text: str, ctx: Context, books: dict = Depends(get_books)) -> list[str]:
    """Return the titles that contain a text."""
    found = []
    for number, title in enumerate(books.values(), 1):
        if text.lower() in title.lower():
            found.append(title)
        # await ctx.report_progress(number, len(books))
        await ctx.progress(number, len(books))
    # await ctx.info(f"{len(found)} found")
    ctx.log.info(f"{len(found)} found")
    return found


@mcp.tool
def lend(book: str, days: int = 14) -> str:
    """Lend a book."""
    if book not in BOOKS:
        raise ToolError(f"There is no book {book}")
    return f"{BOOKS[book]} for {days} days"


@mcp.resource("library://books/{book}", mime_type="text/plain")
def title(book: str) -> str:
    """The title of a book."""
    return BOOKS[book]


@mcp.prompt
def review(title: str) -> str:
    """Ask for a review of a book."""
    return f"Review {title} in one paragraph."


# cafe = FastMCP("cafe")
cafe = Server("cafe")


@cafe.tool
def menu() -> list[str]:
    """Return what the cafe has today."""
    return ["tea", "cake"]


# mcp.mount(cafe, namespace="cafe")
mcp.mount(cafe, "cafe")


@mcp.custom_route("/health", methods=["GET"])
# async def health(request): return PlainTextResponse("ok")
async def health(request: RouteRequest) -> str:
    return "ok"


if __name__ == "__main__":
    # mcp.run(transport="http", port=8000)
    mcp.run(http=8000)
