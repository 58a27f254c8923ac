"""Opaque tokens, validated by introspection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.deep.auth.calls import bearer, call_tool, get_token, names_listed
from tests.deep.auth.processes import Provider, notes_server
from tests.patience import CAP


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    provider = Provider(tmp_path_factory.mktemp("opaque"), opaque=True)
    provider.start()
    yield provider.issuer
    provider.stop()


def test_opaque_tokens_are_introspected(issuer: str, tmp_path: Path) -> None:
    with notes_server(tmp_path, issuer=issuer, opaque=True, oauth={"remember": 0}) as running:
        url = running.ready
        token = get_token(issuer, url, "notes:read")
        assert "." not in token
        answer = call_tool(url, "who", bearer(token))
        assert answer.json()["result"]["structuredContent"] == {
            "id": f"{issuer}#client:robot",
            "scopes": ["notes:read"],
        }
        assert names_listed(url, bearer(token)) == ["who", "read_note", "write_note"]
        # For somebody else, made up, and taken back.
        other = get_token(issuer, "http://127.0.0.1:1/mcp", "notes:read")
        assert call_tool(url, "who", bearer(other)).status_code == 401
        assert call_tool(url, "who", bearer("made-up")).status_code == 401
        form = {"token": token}
        revoked = httpx.post(
            f"{issuer}/revoke_token/", data=form, auth=("robot", "robot-secret"), timeout=CAP
        )
        assert revoked.status_code == 200
        assert call_tool(url, "who", bearer(token)).status_code == 401
        written = running.log.read_text()
        assert not any(each in written for each in (token, other, "resource-server-secret"))
