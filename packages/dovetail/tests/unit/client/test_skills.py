"""Skills: nothing is read before it is needed, and everything that is read is verified."""

from __future__ import annotations

import base64
import hashlib
import sys
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.errors import PeerError, UsageError
from tests.peers.scripted import DISCOVERED, INITIALIZED, Answer, ScriptedServer, run

URI = "skill://pdf/SKILL.md"
FORMS = "skill://pdf/FORMS.md"
TEXT = "---\nname: pdf\ndescription: Fill in forms\nsince: 2026-01-02\n---\n\nDo it.\n"
FRONTMATTER = {"name": "pdf", "description": "Fill in forms", "since": "2026-01-02"}
CAPABILITIES: dict[str, Any] = {
    "resources": {},
    "extensions": {"io.modelcontextprotocol/skills": {}},
}


def _file(uri: str, data: bytes) -> dict[str, Any]:
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    return {"uri": uri, "digest": digest, "size": len(data)}


def _serve(text: str = TEXT, listed: str | None = None, **changes: Any) -> ScriptedServer:
    entry = {
        "uri": URI,
        "frontmatter": FRONTMATTER,
        "resources": [_file(URI, (listed or text).encode()), _file(FORMS, b"\x00forms")],
        **changes,
    }

    def read(message: dict[str, Any]) -> Answer:
        uri = message["params"]["uri"]
        contents: dict[str, Any] = {"uri": uri, "text": text}
        if uri == FORMS:
            contents = {"uri": uri, "blob": base64.b64encode(b"\x00forms").decode()}
        return {"resultType": "complete", "contents": [contents]}

    return ScriptedServer(
        {
            "server/discover": {**DISCOVERED, "capabilities": CAPABILITIES},
            "initialize": {**INITIALIZED, "capabilities": CAPABILITIES},
            "skills/list": {"resultType": "complete", "skills": [entry]},
            "resources/read": read,
        }
    )


def _load(server: ScriptedServer, mode: str = "modern") -> Any:
    async def use() -> tuple[str, bytes]:
        async with Client(server, mode=mode) as client:
            [entry] = await client.list_skills()
            assert (entry.name, entry.description) == ("pdf", "Fill in forms")
            assert "resources/read" not in [m.get("method") for m in server.heard]
            skill = await client.load_skill(entry)
            with pytest.raises(UsageError, match=r"has no file 'skill://pdf/x'; its files: skill:"):
                await skill.read("skill://pdf/x")
            return skill.text, await skill.read(FORMS)

    return run(use())


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_skill_is_read_when_it_is_loaded(mode: str) -> None:
    assert _load(_serve(), mode) == (TEXT, b"\x00forms")


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (_serve(TEXT.replace("Do it", "Do IT"), TEXT), "does not match the digest"),
        (_serve(TEXT + "more", TEXT), "has 75 bytes, and the listing says 71"),
        (_serve(TEXT.replace("Fill", "Steal")), "frontmatter .* differs from the listing"),
        (_serve("no frontmatter"), "has no frontmatter"),
        (_serve("---\na: [\n---\n"), "is not valid YAML"),
        (_serve(resources=[]), "has no file 'skill://pdf/SKILL.md'; its files: none"),
    ],
)
def test_a_skill_that_differs_from_its_listing_is_not_used(
    server: ScriptedServer, message: str
) -> None:
    with pytest.raises((PeerError, UsageError), match=message):
        _load(server)


def test_a_server_without_the_extension_has_no_skills() -> None:
    async def use() -> list[Any]:
        async with Client(ScriptedServer({"server/discover": DISCOVERED})) as client:
            return list(await client.list_skills())

    assert run(use()) == []


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UsageError, match=r"pip install 'dovetail-mcp\[skills\]'"):
        _load(_serve())
