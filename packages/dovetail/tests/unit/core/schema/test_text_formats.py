from __future__ import annotations

import base64
import datetime
import re

import pytest

from dovetail.core.schema import text_formats


@pytest.mark.parametrize(
    "limits", [(None, None), (1, None), (None, 1), (2, 4), (3, 3), (0, 7), (4, 5)]
)
def test_base64_counts_bytes(limits: tuple[int | None, int | None]) -> None:
    least, most = limits
    pattern = re.compile(text_formats.base64_text(least, most)["pattern"])
    for length in range(12):
        fits = (least or 0) <= length <= (99 if most is None else most)
        encoded = base64.b64encode(b"x" * length).decode()
        assert bool(pattern.search(encoded)) == fits, (limits, length)
    assert not pattern.search("QUI")


def test_every_day_of_the_calendar_fits_and_no_other() -> None:
    pattern = re.compile(text_formats.date_time_text(offset=False, is_result=False)["pattern"])
    for year in (1, 4, 100, 400, 1900, 1904, 2000, 2023, 2024, 9999):
        for month in range(14):
            for day in range(33):
                try:
                    datetime.date(year, month, day)
                    exists = True
                except ValueError:
                    exists = False
                text = f"{year:04}-{month:02}-{day:02}T00:00:00"
                assert bool(pattern.search(text)) == exists, text
    assert not pattern.search("0000-01-01T00:00:00")
    assert not pattern.search("0000-02-29T00:00:00")


def test_a_date_and_time_has_an_offset_in_arguments_and_may_lack_it_in_results() -> None:
    with_offset = {"type": "string", "format": "date-time"}
    assert text_formats.date_time_text(offset=None, is_result=False) == with_offset
    assert text_formats.date_time_text(offset=True, is_result=True) == with_offset
    result = re.compile(text_formats.date_time_text(offset=None, is_result=True)["pattern"])
    assert result.search("2020-01-01T00:00:00")
    assert result.search("2020-01-01T00:00:00.5+05:30")


@pytest.mark.parametrize(
    ("offset", "text", "fits"),
    [
        (None, "12:30:00", True),
        (None, "12:30:00Z", True),
        (True, "12:30:00", False),
        (True, "12:30:00-03:00", True),
        (False, "12:30:00Z", False),
        (False, "12:30:00.25", True),
        (None, "12:30", False),
    ],
)
def test_the_offset_of_a_time(offset: bool | None, text: str, fits: bool) -> None:
    assert bool(re.search(text_formats.time_text(offset=offset)["pattern"], text)) == fits


@pytest.mark.parametrize("text", ["P1D", "-P1D", "PT1H", "P1DT2H30M", "PT1.5S", "PT1M1S"])
def test_durations(text: str) -> None:
    assert re.search(text_formats.duration_text()["pattern"], text)
    assert re.search(text_formats.duration_of_pydantic()["pattern"], text)


@pytest.mark.parametrize("text", ["P", "PT", "P1DT", "P1W", "P1Y", "1D", "PT1S1M", "P999999999D"])
def test_what_is_no_duration(text: str) -> None:
    assert not re.search(text_formats.duration_text()["pattern"], text)


@pytest.mark.parametrize(
    ("text", "fits"), [("1", True), ("-.5e3", True), ("5.", True), ("NaN", False)]
)
def test_decimals(text: str, fits: bool) -> None:
    assert bool(re.search(text_formats.decimal_text()["pattern"], text)) == fits
