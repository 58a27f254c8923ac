"""The annotations of the public API, as mypy sees them in the code of a user."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import dovetail
from dovetail import HttpAppOptions, ToolAnnotations
from dovetail.core.options import HTTP_DEFAULTS
from dovetail.features.listing import AnnotationsDict, ToolAnnotationsDict

SAMPLES = Path(__file__).parent / "typing_samples"
ERROR = re.compile(r"^(?P<file>\w+)\.py:(?P<line>\d+): error: (?P<text>.*)$", re.MULTILINE)
MARK = "# E: "


@pytest.mark.slow
def test_mypy_accepts_correct_code_and_reports_every_mistake(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-pretty"]
    files = [SAMPLES / "good.py", SAMPLES / "bad.py"]
    done = subprocess.run(
        [*command, f"--cache-dir={tmp_path}", *(file.name for file in files)],
        cwd=SAMPLES,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found: dict[tuple[str, int], list[str]] = {}
    for error in ERROR.finditer(done.stdout):
        found.setdefault((error["file"], int(error["line"])), []).append(error["text"])
    expected = {
        (file.stem, number): line.partition(MARK)[2]
        for file in files
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if MARK in line
    }
    assert len(expected) > 10
    assert found.keys() == expected.keys(), done.stdout
    for place, text in expected.items():
        assert any(text in each for each in found[place]), (place, text, found[place])


def test_each_http_option_has_a_default() -> None:
    assert list(HTTP_DEFAULTS) == list(inspect.get_annotations(HttpAppOptions))


@pytest.mark.parametrize(
    ("keys", "model"),
    [(ToolAnnotationsDict, ToolAnnotations), (AnnotationsDict, dovetail.Annotations)],
)
def test_a_dict_of_annotations_has_the_fields_of_the_model(keys: Any, model: Any) -> None:
    hints: Mapping[str, Any] = get_type_hints(keys)
    wire = dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))
    assert hints.keys() == {*wire, *wire.values()}
    for name, annotation in get_type_hints(model).items():
        assert hints[name] | None == annotation
        assert hints[wire[name]] == hints[name]
