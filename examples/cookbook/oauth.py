"""A server that accepts access tokens of an OAuth authorization server.

ISSUER is the URL of the authorization server, RESOURCE the public URL of this server.
"""

import os

from dovetail import Context, Server, ToolAnnotations
from dovetail.auth import Guard, Limits, OAuth, Rate

oauth = OAuth(
    os.environ.get("ISSUER", "https://id.example.com"),
    os.environ.get("RESOURCE", "https://notes.example.com/mcp"),
    # What clients ask for at first, and what they ask for when a tool needs it.
    scopes={"notes:read"},
    step_up={"notes:write"},
)
server = Server("notes", version="1.0.0", guard=Guard(oauth, limits=Limits(per_principal=Rate(20))))
# The notes of each user.
notes: dict[str, list[str]] = {}


def find_user(ctx: Context) -> str:
    """The id of the caller: the issuer and the subject of the token."""
    assert ctx.principal is not None  # the guard refuses callers without a token
    return ctx.principal.id


@server.tool(scopes={"notes:read"}, annotations=ToolAnnotations(read_only_hint=True))
async def list_notes(ctx: Context) -> list[str]:
    """Return your notes."""
    return notes.get(find_user(ctx), [])


@server.tool(scopes={"notes:write"})
async def add_note(text: str, ctx: Context) -> int:
    """Add a note; returns how many you have."""
    mine = notes.setdefault(find_user(ctx), [])
    mine.append(text)
    return len(mine)


if __name__ == "__main__":
    server.run(http=8000)
