from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_serverkit.embedding import weights
from dovetail_serverkit.embedding.numeric import np
from dovetail_serverkit.embedding.tensors import read_tensors
from dovetail_serverkit.embedding.weights import find_folder, read_checked, read_header


def test_a_file_is_read_only_if_its_hash_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = {
        "__metadata__": {"format": "pt"},
        "one": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [16, 24]},
    }
    written = json.dumps(header).encode().ljust(256)
    numbers = np.arange(4, dtype="<f4").tobytes() + bytes(8)
    path = tmp_path / "vocab.txt"
    path.write_bytes(len(written).to_bytes(8, "little") + written + numbers)
    with pytest.raises(UsageError, match=r"vocab\.txt .*SHA-256 [0-9a-f]{64}, expected 07eced"):
        read_checked(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setitem(weights.SHA256, "vocab.txt", found)
    content = read_checked(path)
    tensors = read_tensors(content, read_header(content))
    assert set(tensors) == {"one"} and tensors["one"].tolist() == [[0, 1], [2, 3]]


def test_a_package_without_the_files_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PACKAGES", {"json": ".", "no_such_package": "."})
    assert find_folder() is None
