"""Keys in files that are read again when they change, and where state keys come from.

State keys seal the state which clients hold: from options, a file or the environment. They never
come from the shared store: who can read it must not be able to open or forge states. A file has one
key per line, in hexadecimal or base64. The first key seals, all of them open.
"""

from __future__ import annotations

import base64
import logging
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Generic, TypeVar

from dovetail.eras.modern.sealing import MIN_KEY_BYTES
from dovetail.errors import UsageError

__all__ = [
    "KEYS",
    "KEYS_FILE",
    "ReloadedFile",
    "find_state_keys",
    "parse_state_keys",
    "read_state_keys",
]

logger: logging.Logger = logging.getLogger("dovetail")

T = TypeVar("T")


class ReloadedFile(Generic[T]):
    """The contents of a file, which is checked for changes at most every `look_every` seconds."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        read: Callable[[], T],
        *,
        look_every: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read the file; raises what `read` raises."""
        self._path = os.fspath(path)
        self._read = read
        self._look_every = look_every
        self._clock = clock
        self._checked = clock()
        self._state = self._file_state()
        self._contents = read()

    def current(self) -> T:
        """The contents; the same object until the file changes."""
        now = self._clock()
        if now - self._checked >= self._look_every:
            self._checked = now
            state = self._file_state()
            if state != self._state:
                self._state = state
                self._read_again()
        return self._contents

    def _read_again(self) -> None:
        try:
            self._contents = self._read()
        except UsageError as error:
            # Keep the previous contents rather than stopping everyone.
            logger.error("%s was not reloaded: %s", self._path, error)

    def _file_state(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


# Environment variables: the keys, or the path of a file with them, which takes precedence.
KEYS = "DOVETAIL_STATE_KEYS"
KEYS_FILE = "DOVETAIL_STATE_KEYS_FILE"

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")
_NEEDED = (
    "A cluster needs state keys that all its processes share. Create them once with "
    "(umask 077; dovetail keys state > state.keys), and start every process with "
    f"--state-keys state.keys or {KEYS_FILE}=state.keys. The keys may also be in {KEYS} or in "
    "Options(state_keys=[...])"
)


def read_state_keys(path: str) -> tuple[bytes, ...]:
    """The keys in a file; raises UsageError."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise UsageError(f"{path}: cannot read the state keys: {error.strerror}") from None
    return parse_state_keys(text, path)


def parse_state_keys(text: str, where: str) -> tuple[bytes, ...]:
    """The keys in a text, which never appear in the UsageError about it."""
    found: list[bytes] = []
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for word in re.findall(r"[^\s,]+", "\n".join(lines)):
        key = _decode(word)
        if key is None or len(key) < MIN_KEY_BYTES:
            given = "not in hexadecimal or base64" if key is None else f"only {len(key)} bytes"
            raise UsageError(
                f"{where}: key {len(found) + 1} is {given}; a key has at least {MIN_KEY_BYTES} "
                "random bytes, as `dovetail keys state` prints them"
            )
        found.append(key)
    if not found:
        raise UsageError(f"{where}: no keys; `dovetail keys state` prints one")
    return tuple(found)


def find_state_keys(
    given: Sequence[bytes], environment: Mapping[str, str], *, for_cluster: bool
) -> Callable[[], tuple[bytes, ...]] | None:
    """Where the keys come from if not from the options; None: nowhere.

    The environment takes precedence, as for the URL of the cluster. Raises UsageError, also for a
    cluster without keys.
    """
    if environment.get(KEYS_FILE):
        path = environment[KEYS_FILE]
        return ReloadedFile(path, partial(read_state_keys, path)).current
    if environment.get(KEYS):
        keys = parse_state_keys(environment[KEYS], KEYS)
        return lambda: keys
    if for_cluster and not given:
        raise UsageError(_NEEDED)
    return None


def _decode(word: str) -> bytes | None:
    if _HEX.fullmatch(word):
        return bytes.fromhex(word)
    try:
        padded = word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4)
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError:
        return None
