"""Wrap a REST API: one connection pool, clear errors, retries and a cache.

ISSUES_URL is the address of the API, ISSUES_TOKEN its token.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import httpx
from msgspec import Meta

from dovetail import Context, Server, ToolAnnotations, ToolError
from dovetail.middleware import ResultCache, Retry


@asynccontextmanager
async def open_api(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    """One HTTP client for all calls, closed when the server stops."""
    token = os.environ.get("ISSUES_TOKEN", "")
    async with httpx.AsyncClient(
        base_url=os.environ.get("ISSUES_URL", "http://127.0.0.1:9000"),
        headers={"authorization": f"Bearer {token}"},
        timeout=10,
    ) as client:
        yield client


server = Server(
    "issues",
    version="1.0.0",
    lifespan=open_api,
    # The first one is outermost: a cached result needs no attempt.
    middleware=[
        ResultCache(ttl=30, tools=["list_issues"]),
        Retry(attempts=3, on=(httpx.TransportError,), tools=["list_issues", "get_issue"]),
    ],
)


@dataclass
class Issue:
    """An issue, with the fields that a model needs."""

    number: int
    title: str
    state: str


async def request(ctx: Context[httpx.AsyncClient], method: str, path: str, **options: Any) -> Any:
    """Send a request and return its JSON; an error of the API becomes one that helps the model."""
    response = await ctx.lifespan.request(method, path, **options)
    if response.status_code == 404:
        raise ToolError("There is no such issue. Call list_issues for the numbers.")
    if response.is_error:
        raise ToolError(
            f"The API refused the request: {response.status_code} {response.text[:200]}"
        )
    return response.json()


def to_issue(data: dict[str, Any]) -> Issue:
    return Issue(data["number"], data["title"], data["state"])


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def list_issues(
    ctx: Context[httpx.AsyncClient],
    state: Literal["open", "closed"] = "open",
    page: Annotated[int, Meta(ge=1)] = 1,
) -> list[Issue]:
    """Return one page of issues."""
    data = await request(ctx, "GET", "/issues", params={"state": state, "page": page})
    return [to_issue(each) for each in data]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def get_issue(number: int, ctx: Context[httpx.AsyncClient]) -> Issue:
    """Return one issue."""
    return to_issue(await request(ctx, "GET", f"/issues/{number}"))


@server.tool
async def create_issue(title: str, ctx: Context[httpx.AsyncClient]) -> Issue:
    """Create an issue."""
    return to_issue(await request(ctx, "POST", "/issues", json={"title": title}))


if __name__ == "__main__":
    server.run()
