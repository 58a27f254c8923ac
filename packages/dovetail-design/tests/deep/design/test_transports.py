"""The same server over HTTP, with keys, twice on one folder, and with the official client."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from PIL import Image

from dovetail.auth import KeyFile
from dovetail.client import Client
from dovetail.errors import RpcError
from tests.deep.design.driving import box, command, over_stdio, text
from tests.driving import good, refused, serving_http
from tests.patience import CAP

BASE = "canvelete://api"
FIXED = {
    f"{BASE}/{path}"
    for path in (
        *("designs/list", "designs/templates", "assets/library", "assets/fonts"),
        *("user/profile", "user/preferences", "metadata/schema"),
    )
}
TEMPLATES = {
    f"{BASE}/{path}"
    for path in (
        *("design/{id}", "design/{id}/preview.png", "canvas/{designId}"),
        *("canvas/{designId}/elements", "asset/{id}", "export/{id}/{name}"),
    )
}
PROMPTS: list[tuple[str, dict[str, str], list[str]]] = [
    (
        "create_social_post",
        {"platform": "linkedin", "message": "We hire", "style": "bold"},
        ["linkedin-post", "We hire", "bold"],
    ),
    ("create_presentation", {"title": "Results", "slides": "3"}, ["'Results'", "3 slides"]),
    ("create_presentation_slide", {"title": "Results"}, ["'Results'"]),
    ("add_text_element", {"designId": "dsn_1", "text": "Hi"}, ["'dsn_1'", "'Hi'", "32"]),
    (
        "create_certificate",
        {"recipient": "Ada", "awardTitle": "Best", "date": "3 May", "issuer": "Us"},
        ["Ada", "Best", "3 May", "Us"],
    ),
]


async def use(session: ClientSession) -> None:
    await session.initialize()
    assert len((await session.list_tools()).tools) == 29
    made = await session.call_tool("create_design", {"name": "A", "width": 400, "height": 300})
    data: Any = made.structured_content
    id = data["designId"]
    await session.call_tool("add_element", {"designId": id, "element": box("a", 20, 20)})
    seen = await session.call_tool("render_preview", {"designId": id})
    assert [block.type for block in seen.content] == ["text", "image"]
    wrong = await session.call_tool("add_element", {"designId": id, "element": {"type": "x"}})
    assert wrong.is_error
    exported = await session.call_tool("export_design", {"designId": id, "format": "png"})
    data = exported.structured_content
    read = await session.read_resource(data["file"]["uri"])
    assert read.contents[0].blob.startswith("iVBORw0KGgo")  # type: ignore[union-attr]
    names = [prompt.name for prompt in (await session.list_prompts()).prompts]
    assert sorted(names) == sorted(name for name, _, _ in PROMPTS)


def test_the_official_client_over_stdio(tmp_path: Path) -> None:
    words = command(tmp_path)

    async def run() -> None:
        server = StdioServerParameters(command=words[0], args=words[1:])
        async with (
            asyncio.timeout(CAP),
            stdio_client(server) as (receive, send),
            ClientSession(receive, send) as session,
        ):
            await use(session)

    asyncio.run(run())


def test_the_official_client_over_http(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            serving_http(command(tmp_path, "--http", "0")) as [url],
            asyncio.timeout(CAP),
            streamable_http_client(url) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await use(session)

    asyncio.run(run())


@pytest.mark.parametrize("mode", ["2025-03-26", "2025-11-25", "2026-07-28"])
def test_our_client_over_http(tmp_path: Path, mode: str) -> None:
    async def run() -> None:
        async with (
            serving_http(command(tmp_path, "--http", "0")) as [url],
            Client(url, mode=mode, timeout=CAP) as client,
        ):
            made = await good(client, "create_design", name="A")
            await good(client, "add_element", designId=made["designId"], element=box("a"))
            await refused(client, "get_design", designId="nobody")

    asyncio.run(run())


def test_a_change_by_another_process_is_told_and_seen(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(CAP),
            over_stdio(tmp_path) as one,
            over_stdio(tmp_path) as two,
        ):
            id = (await good(one, "create_design", name="A"))["designId"]
            uris = [
                f"{BASE}/design/{id}",
                f"{BASE}/design/{id}/preview.png",
                f"{BASE}/designs/list",
            ]
            async with two.subscribe(uris=uris) as changes:
                await good(one, "add_element", designId=id, element=box("a"))
                heard = {(await anext(changes)).uri for _ in uris}
                assert heard == set(uris)
            read = json.loads((await two.read(f"{BASE}/canvas/{id}/elements")).text)
            assert [element["id"] for element in read["elements"]] == ["a"]

    asyncio.run(run())


def test_resources_are_those_of_the_seed_and_can_be_read(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path) as client:
            assert {one.uri for one in await client.list_resources()} == FIXED
            assert {one.uri_template for one in await client.list_templates()} == TEMPLATES
            id = (await good(client, "create_design", name="Sunday sale"))["designId"]
            await good(client, "add_element", designId=id, element=text("t", "Hi {{name}}"))
            read = {
                path: json.loads((await client.read(f"{BASE}/{path}")).text)
                for path in (
                    *("designs/list", "designs/templates", "assets/library", "assets/fonts"),
                    *("user/profile", "user/preferences", "metadata/schema"),
                    *(f"design/{id}", f"canvas/{id}", f"canvas/{id}/elements"),
                )
            }
            assert [one["id"] for one in read["designs/list"]["designs"]] == [id]
            assert read["designs/templates"]["total"] >= 20
            assert read["assets/library"] == {"assets": [], "total": 0}
            assert read["assets/fonts"]["total"] >= 6
            assert read["user/profile"]["designs"] == 1
            assert read["metadata/schema"]["presets"]["full-hd"]["width"] == 1920
            assert read[f"design/{id}"]["fields"] == ["name"]
            assert read[f"canvas/{id}"]["elements"] == read[f"canvas/{id}/elements"]["elements"]
            [preview] = (await client.read(f"{BASE}/design/{id}/preview.png")).contents
            assert preview.mime_type == "image/png"
            for wrong in ("design/none", "canvas/none", "design/none/preview.png", "asset/none"):
                with pytest.raises(RpcError, match=r"no design|not found"):
                    await client.read(f"{BASE}/{wrong}")
            for typed in (id[:5], "sunday"):
                suggested = await client.complete(f"{BASE}/design/{{id}}", "id", typed)
                assert suggested.values == [id]
            sizes = await client.complete("add_text_element", "fontSize", "3")
            assert sizes.values == ["32"]
            platforms = await client.complete("create_social_post", "platform", "insta")
            assert platforms.values == ["instagram", "instagram-story"]
            ids = await client.complete("add_text_element", "designId", "dsn")
            assert ids.values == [id]

    asyncio.run(run())


def test_prompts_name_tools_that_are_there(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), over_stdio(tmp_path) as client:
            tools = {tool.name for tool in await client.list_tools()}
            for name, given, said in PROMPTS:
                [message] = (await client.get_prompt(name, given)).messages
                words = getattr(message.content, "text", "")
                assert all(one in words for one in said), words
                named = set(re.findall(r"[a-z]+_[a-z_]+", words)) - {"dsn_"}
                assert named <= tools, named - tools
            with pytest.raises(RpcError, match="platform"):
                await client.get_prompt("create_social_post", {"platform": "myspace"})

    asyncio.run(run())


def test_what_is_private_is_unknown_to_others(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    _, ann = keys.add("ann")
    _, bo = keys.add("bo")
    words = command(tmp_path / "d", "--http", "0", "--keys", str(tmp_path / "keys.json"))

    def client(url: str, key: str) -> Client:
        return Client(url, timeout=CAP, headers={"authorization": f"Bearer {key}"})

    async def run() -> None:
        async with (
            serving_http(words) as [url],
            client(url, ann) as one,
            client(url, bo) as two,
        ):
            made = {
                sight: (await good(one, "create_design", name=sight, visibility=sight))["designId"]
                for sight in ("PRIVATE", "UNLISTED", "PUBLIC")
            }
            listed = await good(two, "list_designs")
            assert [design["name"] for design in listed["designs"]] == ["PUBLIC"]
            assert listed["total"] == 1
            unknown = await refused(two, "get_design", designId=made["PRIVATE"])
            # The same words as for a design that never was, so that nothing is told.
            never = await refused(two, "get_design", designId="dsn_never")
            assert unknown.replace(made["PRIVATE"], "X") == never.replace("dsn_never", "X")
            for tool, more in (
                ("add_element", {"element": box("a")}),
                ("delete_design", {}),
                ("export_design", {}),
                ("render_preview", {}),
                ("duplicate_design", {}),
                ("design_history", {}),
            ):
                said = await refused(two, tool, designId=made["PRIVATE"], **more)
                assert "There is no design" in said, tool
            with pytest.raises(RpcError, match="no design"):
                await two.read(f"{BASE}/design/{made['PRIVATE']}")
            shown = await two.complete(f"{BASE}/design/{{id}}", "id", "")
            assert shown.values == [made["PUBLIC"]]
            # Others may look at what is not private, and copy it, but not change it.
            for sight in ("UNLISTED", "PUBLIC"):
                await good(two, "get_design", designId=made[sight])
                said = await refused(two, "add_element", designId=made[sight], element=box("a"))
                assert "belongs to another user" in said
            copy = await good(two, "duplicate_design", designId=made["PUBLIC"])
            await refused(one, "get_design", designId=copy["designId"])
            # A template of another is as unknown as one that never was.
            template = await good(one, "create_template", designId=made["PRIVATE"], name="T")
            hidden = await refused(two, "apply_template", templateId=template["id"])
            never = await refused(two, "apply_template", templateId="dsn_never")
            assert hidden.replace(template["id"], "X") == never.replace("dsn_never", "X")
            # Who makes a design private takes it away from the others.
            await good(one, "update_design", designId=made["PUBLIC"], visibility="PRIVATE")
            await refused(two, "get_design", designId=made["PUBLIC"])
            profile = json.loads((await one.read(f"{BASE}/user/profile")).text)
            assert profile["known"] and profile["designs"] == 3

    asyncio.run(run())


def test_an_asset_is_drawn_in_designs_of_its_owner_only(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    _, ann = keys.add("ann")
    _, bo = keys.add("bo")
    words = command(tmp_path / "d", "--http", "0", "--keys", str(tmp_path / "keys.json"))

    def client(url: str, key: str) -> Client:
        return Client(url, timeout=CAP, headers={"authorization": f"Bearer {key}"})

    async def look(client: Client, id: str) -> Any:
        seen = await client.call("render_preview", {"designId": id, "maxWidth": 32})
        with Image.open(
            io.BytesIO(base64.b64decode(getattr(seen.content[1], "data", "")))
        ) as picture:
            return picture.convert("RGB").getpixel((4, 4))

    async def run() -> None:
        async with (
            serving_http(words) as [url],
            client(url, ann) as one,
            client(url, bo) as two,
        ):
            stream = io.BytesIO()
            Image.new("RGB", (8, 8), (255, 0, 0)).save(stream, "PNG")
            red = f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
            asset = await good(one, "upload_asset", file=red, name="red.png")
            picture = {"type": "image", "x": 0, "y": 0, "width": 64, "height": 64}
            ids = {}
            for caller in (one, two):
                made = await good(
                    caller, "create_design", name="A", width=64, height=64, visibility="PUBLIC"
                )
                ids[caller] = made["designId"]
                for src in (asset["uri"], asset["id"]):
                    element = {**picture, "src": src}
                    told = await good(caller, "add_element", designId=ids[caller], element=element)
                codes = [found["code"] for found in told["warnings"]]
                assert ("missing-picture" in codes) == (caller is two), codes
            assert await look(one, ids[one]) == (255, 0, 0)
            # Who may see the design sees its pictures, and a copy keeps them.
            assert await look(two, ids[one]) == (255, 0, 0)
            copy = await good(two, "duplicate_design", designId=ids[one])
            assert await look(two, copy["designId"]) == (255, 0, 0)
            for caller in (one, two):
                assert await look(caller, ids[two]) != (255, 0, 0)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dir", "/dev/null/x"], "Cannot store"),
        (["a", "--dir", "b"], "pass only one of them"),
        (["--folder", "nowhere"], "not a folder"),
        (["--fonts", "nowhere"], "not a folder"),
        (["--fonts", "fonts"], "not a font"),
    ],
)
def test_a_wrong_command_line_is_explained(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "bad.ttf").write_bytes(b"no font at all")

    async def run() -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dovetail", "serve", "design", *words),
            cwd=tmp_path,
            env={"XDG_DATA_HOME": str(tmp_path / "data"), "PATH": "/usr/bin:/bin"},
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(CAP):
            _, errors = await process.communicate()
        return process.returncode, errors.decode()

    code, errors = asyncio.run(run())
    assert code == 2 and said in errors, errors


def test_without_a_word_designs_are_kept_in_the_data_directory(tmp_path: Path) -> None:
    async def run() -> None:
        words = [sys.executable, "-m", "dovetail", "serve", "design"]
        async with Client(words, timeout=CAP, env={"XDG_DATA_HOME": str(tmp_path)}) as client:
            await good(client, "create_design", name="A")

    asyncio.run(run())
    assert (tmp_path / "dovetail" / "design" / "designs.db").exists()
