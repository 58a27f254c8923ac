from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail.auth import ApiKeys, Guard, OAuth
from dovetail.spec.revisions import REVISIONS
from dovetail_console import config
from tests.console.pages import browse, make_server, token_of


def read_config(app: Any, root: str = "") -> dict[str, Any]:
    async def use(client: httpx.AsyncClient) -> dict[str, Any]:
        answer = await client.get(
            f"{root}/console/api/config", headers=await token_of(client, root)
        )
        assert answer.status_code == 200
        found: dict[str, Any] = answer.json()
        return found

    return browse(app, use, root=root)


def test_the_page_learns_where_the_server_is_and_how_to_use_it() -> None:
    found = read_config(make_server().http_app(console=True))
    [server] = found["servers"]
    assert found["mode"] == "server"
    assert found["watch"] is False
    assert found["confirm"] is True
    assert found["process"]
    assert found["revisions"] == [each.date for each in reversed(REVISIONS)]
    assert (server["name"], server["title"], server["version"]) == ("shop", "The shop", "1.2.3")
    assert server["endpoint"] == "../mcp"
    assert server["endpoints"] == {}
    assert server["guard"] == {"keys": False, "key_header": "Authorization", "oauth": False}
    assert server["target"] == "http://127.0.0.1:8000/mcp"
    assert [each["name"] for each in server["clients"]][:2] == ["Claude Code", "Claude Desktop"]


def test_a_mounted_console_has_the_prefix_in_its_paths() -> None:
    [server] = read_config(make_server().http_app(console=True), "/tools")["servers"]
    assert server["endpoint"] == "../mcp"
    assert server["target"] == "http://127.0.0.1:8000/tools/mcp"


def test_an_endpoint_at_the_root_is_the_root() -> None:
    [server] = read_config(make_server().http_app("", console=True))["servers"]
    assert server["endpoint"] == "../"


def test_the_page_learns_which_credentials_are_needed(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text('{"version": 1, "keys": []}')
    guarded = make_server().http_app(
        guard=Guard(ApiKeys(str(keys), header="X-Api-Key")), console=True
    )
    assert read_config(guarded)["servers"][0]["guard"] == {
        "keys": True,
        "key_header": "X-Api-Key",
        "oauth": False,
    }
    resource = "http://127.0.0.1:8000/mcp"
    oauth = Guard(OAuth(issuer="https://login.example", resource=resource))
    app = make_server().http_app(guard=oauth, console=True)
    assert read_config(app)["servers"][0]["guard"]["oauth"] is True


def test_a_missing_checker_is_named_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "find_spec", lambda name: None)
    found = read_config(make_server().http_app(console=True))
    assert found["check"] == "pip install dovetail-check"
