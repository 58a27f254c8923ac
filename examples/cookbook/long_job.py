"""A job that takes minutes: a task with progress that survives a restart of the server.

TASKS is the file in which tasks are stored; LETTERS is the folder for the results.
"""

import asyncio
import os
from pathlib import Path

from dovetail import Context, Options, Server

LETTERS = Path(os.environ.get("LETTERS", "letters"))

server = Server(
    "mailing",
    version="1.0.0",
    options=Options(state="sqlite:///" + os.environ.get("TASKS", "tasks.sqlite3"), task_poll=0.2),
)


async def write_letter(name: str) -> str:
    """One step of the job; stands for something slow."""
    await asyncio.sleep(0.02)
    LETTERS.mkdir(exist_ok=True)
    with (LETTERS / f"{name}.txt").open("a", encoding="utf-8") as letter:
        letter.write(f"Dear {name}\n")
    return name


# "optional": clients that know tasks get one, others wait for the result.
@server.tool(task="optional", resumable=True)
async def send_letters(names: list[str], ctx: Context) -> str:
    """Write a letter to each person."""
    for number, name in enumerate(names, 1):
        # A step that was recorded is not repeated if the job runs again after a restart.
        await ctx.once(f"letter-{name}", lambda name=name: write_letter(name))
        ctx.progress(number, len(names), f"{number} of {len(names)} letters")
    return f"{len(names)} letters in {LETTERS.name}"


if __name__ == "__main__":
    server.run()
