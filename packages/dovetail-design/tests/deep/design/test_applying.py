"""Templates filled with data: one row, many rows, files; all of it or nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dovetail.client import Client
from tests.deep.design.driving import text
from tests.deep.design.test_tools import create, tell
from tests.driving import good, refused

CARD: list[dict[str, Any]] = [
    text("name", "{{name}}"),
    text("role", "{{role}} at {{company}}", y=150, fontSize=24),
    {
        "type": "qr",
        "id": "qr",
        "x": 50,
        "y": 250,
        "width": 200,
        "height": 200,
        "qrValue": "https://example.org/{{name}}",
    },
    {
        "type": "table",
        "id": "table",
        "x": 300,
        "y": 250,
        "width": 400,
        "height": 200,
        "tableIsDynamic": True,
        "tableDataSource": "json",
        "tableJsonData": "{{rows}}",
    },
]
ROW = {"name": "Ada", "role": "Engineer", "company": "Acme", "rows": [{"Item": "Tea", "Price": 3}]}


async def make_template(client: Client) -> str:
    id = await create(client)
    await good(client, "add_element", designId=id, elements=CARD)
    made = await good(
        client, "create_template", designId=id, name="Card", category="Cards", slots=ROW
    )
    assert list(made["slots"]) == ["name", "role", "company", "rows"] and made["source"] == "own"
    return str(made["id"])


def test_a_template_of_ones_own_is_listed_and_filled(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        template = await make_template(client)
        listed = await good(client, "list_templates", category="cards")
        assert [one["id"] for one in listed["templates"]][:1] == [template]
        # It is no design: the list of designs has the one it was made of, alone.
        assert (await good(client, "list_designs"))["total"] == 1
        done = await good(client, "apply_template", templateId=template, data=ROW)
        found = await good(client, "get_design", designId=done["designId"])
        by_type = {one["type"]: one for one in found["elements"]}
        assert found["fields"] == [] and by_type["qr"]["qrValue"] == "https://example.org/Ada"
        assert [cell["text"] for cell in by_type["table"]["tableCellData"]] == ["Tea", "3"]
        assert "Engineer at Acme" in [one.get("text") for one in found["elements"]]
        await good(client, "render_preview", designId=done["designId"])

    tell(tmp_path, story)


def test_a_template_goes_onto_a_design_and_can_be_undone(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=text("mine", "Mine"))
        listed = await good(client, "list_templates", search="certificate")
        template = listed["templates"][0]
        assert template["source"] == "embedded"
        done = await good(
            client,
            "apply_template",
            designId=id,
            templateId=template["id"],
            data=template["slots"],
            ifVersion=2,
        )
        assert (done["designId"], done["version"], done["warnings"]) == (id, 3, [])
        found = await good(client, "get_design", designId=id)
        assert found["design"]["width"] == template["width"]
        assert "mine" not in [one["id"] for one in found["elements"]]
        await good(client, "design_history", designId=id, action="undo")
        found = await good(client, "get_design", designId=id)
        assert [one["id"] for one in found["elements"]] == ["mine"]
        assert found["design"]["width"] == 800

    tell(tmp_path, story)


def test_many_rows_become_many_designs_and_files(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    async def story(client: Client) -> None:
        template = await make_template(client)
        rows = [{**ROW, "name": name} for name in ("Ada", "Bo", "C/D")]
        done = await good(
            client,
            "apply_template",
            templateId=template,
            data=rows,
            name="Card of {{name}}",
            format="png",
            saveTo="{{n}}-{{name}}.png",
        )
        assert [one["name"] for one in done["designs"]] == [
            "Card of Ada",
            "Card of Bo",
            "Card of C/D",
        ]
        assert sorted(path.name for path in folder.iterdir()) == [
            "1-Ada.png",
            "2-Bo.png",
            "3-C-D.png",
        ]
        assert len({path.read_bytes() for path in folder.iterdir()}) == 3
        before = (await good(client, "list_designs"))["total"]
        csv = 'name,role,company,rows\nEve,Cook,"A, B",[[1]]\nFay,Cook,X,[[2]]\n'
        files = await good(
            client,
            "apply_template",
            templateId=template,
            data=csv,
            format="pdf",
            keepDesigns=False,
        )
        assert (len(files["files"]), files["designs"], files["designId"]) == (2, [], None)
        assert (await good(client, "list_designs"))["total"] == before
        [content] = (await client.read(files["files"][0]["uri"])).contents
        assert content.mime_type == "application/pdf"

    tell(tmp_path / "d", story, "--folder", str(folder))


def test_data_that_does_not_fit_makes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "2.png").write_bytes(b"mine")

    async def story(client: Client) -> None:
        template = await make_template(client)
        before = (await good(client, "list_designs"))["total"]

        async def apply(**more: Any) -> str:
            return await refused(client, "apply_template", templateId=template, **more)

        said = await apply(data=[ROW, {"name": "Bo", "colour": "red"}])
        assert "row 2" in said and "missing: role, company, rows" in said
        assert "not in the template: colour" in said
        # One file is there already: neither the others nor any design is made.
        said = await apply(data=[ROW, ROW, ROW], format="png", saveTo="{{n}}.png")
        assert "overwrite" in said
        assert sorted(path.name for path in folder.iterdir()) == ["2.png"]
        assert "different names" in await apply(data=[ROW, ROW], format="png", saveTo="a.png")
        assert "Two files" in await apply(data=[ROW, ROW], format="png", saveTo="{{name}}.png")
        assert "not allowed" in await apply(data=ROW, format="png", saveTo="../a.png")
        assert "need a `format`" in await apply(data=ROW, saveTo="a.png")
        assert "data has no rows" in await apply(data="a,b\n")
        bad = {**ROW, "name": "x" * 3_000}
        assert "row 2" in await apply(data=[ROW, bad], format="png")
        assert (await good(client, "list_designs"))["total"] == before
        assert (folder / "2.png").read_bytes() == b"mine"
        id = await create(client)
        assert "one row, got 2" in await apply(designId=id, data=[ROW, ROW])
        assert "no template" in await refused(
            client, "apply_template", templateId="certificat", data={}
        )
        assert "not in the design: x" in await refused(
            client, "create_template", designId=id, name="T", slots={"x": 1}
        )

    tell(tmp_path / "d", story, "--folder", str(folder))


def test_without_data_a_template_shows_its_examples(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        page, seen = 1, 0
        while True:
            listed = await good(client, "list_templates", page=page, limit=50)
            for template in listed["templates"]:
                done = await good(client, "apply_template", templateId=template["id"])
                assert done["warnings"] == [], template["id"]
                seen += 1
            if not listed["hasMore"]:
                break
            page += 1
        assert seen == listed["total"] >= 20
        # Half of the data, and the examples for the rest.
        template = listed["templates"][0]
        slot = next(iter(template["slots"]))
        given = {"templateId": template["id"], "data": {slot: "Other words"}}
        done = await good(client, "apply_template", useSamples=True, **given)
        elements: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            found = await good(client, "get_design", designId=done["designId"], offset=offset)
            elements += found["elements"]
            offset = found.get("nextOffset")
        assert "Other words" in json.dumps(elements)

    tell(tmp_path, story)


def test_without_examples_the_fields_stay_and_are_told(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        id = await create(client)
        await good(client, "add_element", designId=id, element=text("t", "Hi {{name}}"))
        made = await good(client, "create_template", designId=id, name="Bare")
        done = await good(client, "apply_template", templateId=made["id"])
        assert [one["code"] for one in done["warnings"]] == ["unfilled-field"]
        assert (await good(client, "get_design", designId=done["designId"]))["fields"] == ["name"]
        # A template is deleted as a design is.
        await good(client, "delete_design", designId=made["id"])
        assert (await good(client, "list_templates", search="bare"))["total"] == 0

    tell(tmp_path, story)
