"""Several servers behind one: filtered, renamed, and with tools of its own.

`dovetail gateway gateway.toml` does the same from a file. This one is in Python, because it adds a
tool.
"""

import sys
from pathlib import Path

from dovetail import Proxy, Server
from dovetail.mount import ArgumentTransform, ToolTransform

HERE = Path(__file__).parent


def run(file: str) -> Proxy:
    """A server in another process; it starts when it is needed."""
    return Proxy([sys.executable, "-m", "dovetail", "run", str(HERE / file)], name=file)


server = Server("office", version="1.0.0", instructions="Files and the database of the office.")

server.mount(
    run("files.py"),
    "files",
    include=["list_files", "read_file", "search"],
    tools={"search": ToolTransform(description="Search the handbook of the office.")},
)
server.mount(
    run("sql_database.py"),
    "shop",
    tools={
        "tables": ToolTransform(hidden=True),
        # Callers neither see nor set the limit.
        "query": ToolTransform(name="ask", arguments={"limit": ArgumentTransform(value=20)}),
    },
)


@server.tool
async def opening_hours() -> str:
    """Return when the office is open."""
    return "Monday to Friday, 9 to 17"


if __name__ == "__main__":
    server.run()
