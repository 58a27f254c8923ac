"""One caller cannot lock out another: sessions, rate limits, and credentials outside the head."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.auth import KeyFile
from tests.deep.auth.calls import bearer, initialize
from tests.deep.hostile.wire import Wire
from tests.deep.http_corpus.stacks import serving
from tests.http_corpus.cases import call_body, make_request

PARSERS = ["httptools", "h11"]

SERVER = """
import os
from dovetail import Server
from dovetail.auth import ApiKeys, Guard, Limits, Rate

class Small(Server):
    def http_app(self, path="/mcp", **options):
        return super().http_app(path, **{"max_sessions": 10, **options, "guard": guard})

limits = Limits(per_principal=Rate(40, per=3600, burst=40))
guard = Guard(ApiKeys(os.environ["KEYS"], header="X-Api-Key"), limits=limits)
server = Small("small")

@server.tool
async def count(key: str) -> str:
    return key

app = server.http_app()
"""


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyFile:
    monkeypatch.setenv("KEYS", str(tmp_path / "keys.json"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    (tmp_path / "small.py").write_text(SERVER)
    return KeyFile(tmp_path / "keys.json")


@pytest.mark.parametrize("parser", PARSERS)
def test_a_flood_of_sessions_evicts_those_of_the_flooder(
    keys: KeyFile, tmp_path: Path, parser: str
) -> None:
    flooder, quiet = bearer(keys.add("flooder")[1]), bearer(keys.add("quiet")[1])
    words = ["-m", "dovetail", "run", str(tmp_path / "small.py"), "--http", "0"]
    with serving([*words, "--http-parser", parser], tmp_path / "log") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        opened = initialize(url, quiet)
        session = {"mcp-session-id": opened.headers["mcp-session-id"], **quiet}
        statuses = [initialize(url, flooder).status_code for _ in range(30)]
        assert statuses[:9] == [200] * 9 and set(statuses[9:]) == {503}
        # The other caller keeps its session, and can open more.
        assert initialize(url, session).status_code == 200
        assert initialize(url, quiet).status_code == 200


@pytest.mark.parametrize("parser", PARSERS)
def test_a_handshake_over_the_rate_limit_is_a_429(
    keys: KeyFile, tmp_path: Path, parser: str
) -> None:
    caller = bearer(keys.add("caller")[1])
    words = ["-m", "dovetail", "run", str(tmp_path / "small.py"), "--http", "0", "--stateless"]
    with serving([*words, "--http-parser", parser], tmp_path / "log") as port:
        url = f"http://127.0.0.1:{port}/mcp"
        answers = [initialize(url, caller) for _ in range(41)]
        assert [answer.status_code for answer in answers] == [200] * 40 + [429]
        assert int(answers[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize("header", [b"Authorization: Bearer ", b"X-Api-Key: "])
@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["-m", "dovetail", "run", "small.py", "--http", "0", "--http-parser", "httptools"], 401),
        (["-m", "dovetail", "run", "small.py", "--http", "0", "--http-parser", "h11"], 401),
        # uvicorn mixes headers and trailers, so chunked requests are refused.
        (["-m", "uvicorn", "small:app", "--port", "0", "--http", "httptools"], 411),
        (["-m", "uvicorn", "small:app", "--port", "0", "--http", "h11"], 401),
    ],
    ids=["run httptools", "run h11", "uvicorn httptools", "uvicorn h11"],
)
def test_a_key_in_a_trailer_does_not_authenticate(
    keys: KeyFile, tmp_path: Path, words: list[str], status: int, header: bytes
) -> None:
    key = keys.add("caller")[1].encode()
    body = call_body("count", b"x")
    trailer = header + key + b"\r\n"
    raw = make_request(
        b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailer), [b"Transfer-Encoding: chunked"]
    )
    words = [str(tmp_path / word) if word == "small.py" else word for word in words]
    with serving(words, tmp_path / "log") as port:
        for pieces in ([raw], [raw[: -len(trailer) - 2], raw[-len(trailer) - 2 :]]):
            wire = Wire(port)
            wire.say(*pieces)
            assert wire.hear().status == status
            wire.close()
        # With the key in the head the call is served.
        wire = Wire(port)
        wire.say(make_request(body, [header + key, b"Content-Length: %d" % len(body)]))
        assert wire.hear().status == 200
        wire.close()
