"""Sealed state: it comes back whole to whom it was made for, in time, and to nobody else."""

from __future__ import annotations

import base64
import random
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dovetail.eras.modern import sealing
from dovetail.eras.modern.sealing import Sealer, binding_of
from dovetail.errors import InvalidParamsError, UsageError

KEY = bytes(range(32))
OLD_KEY = bytes(range(1, 65))
BINDING = binding_of(b"alice", b"tools/call")
SEALER = Sealer([KEY])


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def assert_not_valid(sealer: Sealer, text: str, binding: bytes = BINDING) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        sealer.open(text, binding=binding)
    assert caught.value.message == ("requestState is not valid; send the request again without it")


def seal(payload: bytes = b"state", sealer: Sealer = SEALER, lifetime: float = 60) -> str:
    return sealer.seal(payload, binding=BINDING, lifetime=lifetime)


def raw(token: str) -> bytearray:
    return bytearray(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def token_of(data: bytes | bytearray) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@given(st.binary(), st.binary())
def test_a_sealed_payload_comes_back(payload: bytes, binding: bytes) -> None:
    token = SEALER.seal(payload, binding=binding, lifetime=60)
    assert SEALER.open(token, binding=binding) == payload


def test_keys_can_come_from_elsewhere_and_change() -> None:
    sealer = Sealer([KEY])
    assert sealer.keys == (KEY,)
    current = [(OLD_KEY,)]
    sealer.follow(lambda: current[0])
    token = seal(sealer=sealer)
    assert sealer.keys == (OLD_KEY,)
    assert_not_valid(SEALER, token)
    current[0] = (KEY,)
    assert_not_valid(sealer, token)
    assert sealer.open(seal(), binding=BINDING) == b"state"


def test_a_token_shows_nothing_of_its_payload_and_is_never_the_same_twice() -> None:
    assert b"state" not in raw(seal())
    assert seal() != seal()


def test_the_length_of_a_token_tells_the_length_of_its_payload_and_nothing_else() -> None:
    assert len(seal(b"a" * 1000)) == len(seal(random.Random(1).randbytes(1000)))


@given(st.binary(max_size=200), st.data())
def test_a_token_with_any_bits_changed_is_refused(payload: bytes, data: st.DataObject) -> None:
    sealed = raw(seal(payload))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    assert_not_valid(SEALER, token_of(sealed))


@given(st.binary(max_size=20), st.data())
def test_a_token_with_one_character_changed_is_refused(payload: bytes, data: st.DataObject) -> None:
    token = seal(payload)
    index = data.draw(st.integers(0, len(token) - 1))
    character = data.draw(st.sampled_from("ABCDwxyz0189-_+/=\n") | st.characters())
    assume(character != token[index])
    assert_not_valid(SEALER, token[:index] + character + token[index + 1 :])


@given(st.data())
def test_a_cut_token_is_refused(data: st.DataObject) -> None:
    token = seal()
    assert_not_valid(SEALER, token[: data.draw(st.integers(0, len(token) - 1))])


@pytest.mark.parametrize("text", ["", "A", "no token", "é", "====", "A" * 80, "A" * (2**20 + 1)])
def test_text_that_was_never_a_token_is_refused(text: str) -> None:
    assert_not_valid(SEALER, text)


def test_a_token_of_another_binding_is_refused() -> None:
    assert_not_valid(SEALER, seal(), binding_of(b"bob", b"tools/call"))


def test_a_token_of_a_foreign_key_is_refused() -> None:
    assert_not_valid(SEALER, seal(sealer=Sealer([OLD_KEY])))


def test_a_token_lives_until_its_lifetime_is_over_and_says_that_it_expired() -> None:
    clock = Clock()
    sealer = Sealer([KEY], clock=clock)
    token = seal(sealer=sealer, lifetime=10)
    clock.now += 9.9
    assert sealer.open(token, binding=BINDING) == b"state"
    clock.now += 0.1
    with pytest.raises(InvalidParamsError, match="has expired"):
        sealer.open(token, binding=BINDING)


def test_only_whom_a_token_was_made_for_learns_that_it_expired() -> None:
    clock = Clock()
    sealer = Sealer([KEY], clock=clock)
    token = seal(sealer=sealer, lifetime=10)
    clock.now += 11
    assert_not_valid(sealer, token, b"somebody else")


def test_after_rotation_old_tokens_open_and_new_ones_need_the_new_key() -> None:
    old, rotated, retired = Sealer([OLD_KEY]), Sealer([KEY, OLD_KEY]), Sealer([KEY])
    assert rotated.open(seal(sealer=old), binding=BINDING) == b"state"
    assert retired.open(seal(sealer=rotated), binding=BINDING) == b"state"
    assert_not_valid(old, seal(sealer=rotated))
    assert_not_valid(retired, seal(sealer=old))


def test_without_keys_each_sealer_makes_its_own() -> None:
    one, other = Sealer(), Sealer()
    token = seal(sealer=one)
    assert one.open(token, binding=BINDING) == b"state"
    assert_not_valid(other, token)


def test_a_thread_that_loses_the_race_to_the_first_use_takes_the_key_of_the_winner() -> None:
    sealer = Sealer()
    winner = sealing._ciphers_from([KEY])

    class LockTakenByTheWinner:
        def __enter__(self) -> None:
            sealer._ciphers = winner

        def __exit__(self, *_: object) -> None:
            pass

    sealer._first_use = LockTakenByTheWinner()  # type: ignore[assignment]
    assert SEALER.open(seal(sealer=sealer), binding=BINDING) == b"state"


def test_a_short_key_is_refused_by_its_number() -> None:
    with pytest.raises(UsageError, match="key 2 has 31 bytes; at least 32"):
        Sealer([KEY, KEY[:31]])


@pytest.mark.parametrize("lifetime", [0, -1, float("inf"), float("nan")])
def test_a_lifetime_is_a_positive_number_of_seconds(lifetime: float) -> None:
    with pytest.raises(UsageError, match="lifetime"):
        seal(lifetime=lifetime)


def test_state_too_large_to_travel_is_refused_when_it_is_sealed() -> None:
    with pytest.raises(UsageError, match="the limit is"):
        seal(random.Random(1).randbytes(2**20))


@given(st.lists(st.binary(max_size=4)), st.lists(st.binary(max_size=4)))
def test_different_parts_make_different_bindings(one: list[bytes], other: list[bytes]) -> None:
    assert (binding_of(*one) == binding_of(*other)) == (one == other)


def test_moving_a_byte_between_parts_changes_the_binding() -> None:
    bindings = {
        binding_of(*parts)
        for parts in ([b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""], [b"", b"abc"], [])
    }
    assert len(bindings) == 6


def test_importing_the_module_does_not_import_the_cryptography_library() -> None:
    program = (
        "import sys, dovetail.eras.modern.sealing as s; s.Sealer(); s.binding_of(b'x');"
        "sys.exit('cryptography' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_default_key_is_used_only_without_keys_of_its_own() -> None:
    shared, own = b"s" * 32, b"o" * 32
    first, second, third = Sealer(), Sealer(), Sealer([own])
    for sealer in (first, second, third):
        sealer.set_default_key(shared)
    token = first.seal(b"state", binding=b"b", lifetime=60)
    assert second.open(token, binding=b"b") == b"state"
    with pytest.raises(InvalidParamsError):
        third.open(token, binding=b"b")
