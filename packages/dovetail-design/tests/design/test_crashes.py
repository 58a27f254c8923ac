"""Native code that fails costs the call that used it, never the server."""

from __future__ import annotations

from pathlib import Path

from dovetail.client import Client
from tests.design.test_tools import create, tell
from tests.driving import good, refused

# More than the 15 to 30 failed exports that ended a server.
EXPORTS = 60
DAMAGED = {
    **{"type": "image", "id": "i", "x": 0, "y": 0, "width": 80, "height": 40},
    "src": "data:image/png;base64,AAAA",
}


def test_pdf_exports_that_fail_do_not_crash(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=DAMAGED)
        for _ in range(EXPORTS):
            said = await refused(client, "export_design", designId=id, format="pdf")
            assert "cannot be read" in said

    tell(tmp_path, story)
