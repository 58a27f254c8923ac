from __future__ import annotations

import pytest

from dovetail_design.model.barcodes import encode_barcode


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("EAN13", "400638133393", "4006381333931"),
        ("EAN13", "4006381333931", "4006381333931"),
        ("EAN8", "9638507", "96385074"),
        ("UPC", "03600029145", "036000291452"),
        ("UPCE", "123456", "01234565"),
        ("UPCE", "1123451", "11234511"),
        ("ITF14", "1540014128876", "15400141288763"),
        ("MSI", "1234567", "12345674"),
        ("CODE39", "abc-1", "ABC-1"),
        ("codabar", "a123b", "123"),
        ("pharmacode", "001234", "1234"),
    ],
)
def test_check_digits_are_added(kind: str, value: str, text: str) -> None:
    assert encode_barcode(kind, value).text == text


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("EAN13", "4006381333930", "check digit of EAN13 .* should be 1"),
        ("EAN13", "40063813", "takes 12 digits, or 13"),
        ("EAN8", "96385071", "should be 4"),
        ("UPC", "abc", "takes 11 digits, or 12"),
        ("UPCE", "2123456", "begin with 0 or 1"),
        ("UPCE", "01234560", "should be 5"),
        ("ITF14", "1", "takes 13 digits"),
        ("MSI", "12a", "1 to 30 digits"),
        ("CODE39", "a_b", "CODE39 takes"),
        ("CODE39", "", "CODE39 takes"),
        ("CODE128", "", "ASCII characters"),
        ("CODE128", "Grüße", "ASCII characters"),
        ("codabar", "A12", "codabar takes"),
        ("codabar", "12Z", "codabar takes"),
        ("pharmacode", "2", "3 to 131070"),
        ("pharmacode", "131071", "3 to 131070"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(kind: str, value: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        encode_barcode(kind, value)


def test_pairs_of_digits_take_half_the_room() -> None:
    pairs = len(encode_barcode("CODE128", "1234567890").modules)
    letters = len(encode_barcode("CODE128", "abcdefghij").modules)
    assert letters - pairs == 5 * 11
