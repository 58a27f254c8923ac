"""One of many processes with the same expired token.

usage: python refresher.py URL FOLDER     (prints the result of one call)
"""

from __future__ import annotations

import asyncio
import sys

from dovetail import Client
from dovetail.client.auth import FileStore, OAuth
from tests.patience import CAP


async def main(url: str, folder: str) -> None:
    auth = OAuth(store=FileStore(folder), interactive=False)
    async with Client(url, auth=auth, mode="modern", timeout=CAP) as client:
        sys.stdin.readline()
        sys.stdout.write((await client.call("work")).text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
