"""State keys: formats, files that change, and where they come from."""

from __future__ import annotations

import base64
import os
from functools import partial
from pathlib import Path

import pytest

from dovetail import Options, Server
from dovetail.eras.modern.sealing import Sealer
from dovetail.errors import InvalidParamsError, UsageError
from dovetail.runtime.key_files import (
    KEYS,
    KEYS_FILE,
    ReloadedFile,
    find_state_keys,
    parse_state_keys,
    read_state_keys,
)

OLD, NEW = bytes(range(32)), b"\xfb\xff" * 20


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def write(file: Path, *keys: bytes) -> None:
    # A new file, because the times of files are not exact enough to tell two writes apart.
    fresh = file.with_suffix(".new")
    fresh.write_text("\n".join(key.hex() for key in keys))
    fresh.replace(file)


def seal(sealer: Sealer) -> str:
    return sealer.seal(b"state", binding=b"b", lifetime=60)


def opens(sealer: Sealer, token: str) -> bool:
    try:
        return sealer.open(token, binding=b"b") == b"state"
    except InvalidParamsError:
        return False


def test_keys_are_in_hexadecimal_or_base64() -> None:
    encoded = base64.b64encode(NEW).decode()
    urlsafe = base64.urlsafe_b64encode(NEW).decode().rstrip("=")
    text = f"# the first, which seals\n{OLD.hex()}\n\n  {encoded}\n{urlsafe},{OLD.hex().upper()}\n"
    assert parse_state_keys(text, "file") == (OLD, NEW, NEW, OLD)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "file: no keys; `dovetail keys state`"),
        ("# only a comment\n", "no keys"),
        (f"{OLD.hex()}\n{OLD.hex()[:62]}", "key 2 is only 31 bytes; a key has at least 32"),
        ("pass*word" * 9, "key 1 is not in hexadecimal or base64"),
    ],
)
def test_invalid_keys_are_refused_without_showing_them(text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        parse_state_keys(text, "file")
    assert all(word not in str(caught.value) for word in text.split() if len(word) > 5)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the state keys: No such file"):
        read_state_keys(os.fspath(tmp_path / "missing"))


def test_a_file_comes_before_a_variable_and_both_before_the_options(tmp_path: Path) -> None:
    file = tmp_path / "state.keys"
    file.write_text(OLD.hex())
    in_file, in_variable = {KEYS_FILE: os.fspath(file)}, {KEYS: NEW.hex()}
    for given in ((), [NEW]):
        found = find_state_keys(given, {**in_file, **in_variable}, for_cluster=True)
        assert found is not None and found() == (OLD,)
    found = find_state_keys([OLD], in_variable, for_cluster=False)
    assert found is not None and found() == (NEW,)
    assert find_state_keys([NEW], {}, for_cluster=True) is None
    assert find_state_keys((), {}, for_cluster=False) is None


def test_a_cluster_without_keys_is_refused_with_the_command_that_makes_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (KEYS, KEYS_FILE):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match=r"dovetail keys state > state\.keys.*--state-keys"):
        Server("s", options=Options(state="redis://127.0.0.1:1/0"))
    Server("s", options=Options(state="redis://127.0.0.1:1/0", state_keys=[OLD]))


def test_keys_are_replaced_while_two_processes_use_them(tmp_path: Path) -> None:
    clock, files, sealers = Clock(), [tmp_path / "one", tmp_path / "other"], []
    for file in files:
        write(file, OLD)
        sealers.append(Sealer(clock=clock))
        read = partial(read_state_keys, os.fspath(file))
        sealers[-1].follow(ReloadedFile(file, read, clock=clock).current)
    one, other = sealers
    first = seal(one)
    assert opens(other, first)
    # Each step reaches one process before the other, and nothing becomes invalid meanwhile.
    for keys in ([OLD, NEW], [NEW, OLD]):
        for file in files:
            write(file, *keys)
            clock.now += 1
            assert all(opens(each, first) for each in sealers)
            assert opens(other, seal(one)) and opens(one, seal(other))
    newest = seal(one)
    for file in files:
        write(file, NEW)
    clock.now += 1
    assert opens(other, newest) and not opens(other, first)


def test_a_server_takes_its_keys_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "state.keys", OLD)
    monkeypatch.setenv(KEYS_FILE, os.fspath(tmp_path / "state.keys"))
    one, other = Server("s"), Server("s")
    assert opens(other.engine.eras.sealer, seal(one.engine.eras.sealer))
