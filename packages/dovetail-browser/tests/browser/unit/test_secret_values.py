"""Sources of secrets, and that all their encodings are hidden."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from dovetail import ToolError, UsageError
from dovetail_browser.secret_values import Secrets, read_secrets_file


def test_lines_and_json_are_read(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("# comment\n\nSHOP = a=b c \nPIN=1234\n")
    assert read_secrets_file(lines) == {"SHOP": "a=b c", "PIN": "1234"}
    object_ = tmp_path / "object"
    object_.write_text('{"SHOP": "a\\"b"}')
    assert read_secrets_file(object_) == {"SHOP": 'a"b'}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("no equals sign here: hunter2", "line 1: expected NAME=value"),
        ("1BAD=hunter2", "a name is a letter"),
        ("SHORT=ab", "fewer than 3"),
        ('{"A": 12345678}', "not a JSON object of strings"),
    ],
)
def test_an_invalid_file_is_rejected_without_showing_its_values(
    tmp_path: Path, text: str, reason: str
) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(UsageError, match=reason) as raised:
        read_secrets_file(path)
    assert "hunter2" not in str(raised.value) and "12345678" not in str(raised.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_secrets_file(tmp_path / "none")


def test_the_environment_adds_to_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_SECRET_MAIL", "from outside")
    monkeypatch.setenv("DOVETAIL_SECRET_SHOP", "other")
    secrets = Secrets({"SHOP": "of the file"})
    assert secrets.names == ["MAIL", "SHOP"]
    assert secrets.value_for("SHOP", "a.org") == "of the file"
    assert secrets.value_for("MAIL", "a.org") == "from outside"


@pytest.mark.parametrize(
    "shown",
    [
        "pass&word<1>",
        "?q=pass%26word%3C1%3E",
        "<input value='pass&amp;word&lt;1&gt;'>",
    ],
)
def test_every_encoding_is_hidden(shown: str) -> None:
    hidden = Secrets({"KEY": "pass&word<1>"}).hide(shown)
    assert "pass" not in hidden.replace("[secret KEY]", "") and "[secret KEY]" in hidden


VALUE = "hunter2&more"


@pytest.mark.parametrize(
    "disguise",
    [
        lambda value: value[::-1],
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex(" ").upper(),
        lambda value: "".join(f"%{ord(letter):02X}" for letter in value),
        lambda value: quote(quote(value)),
        lambda value: b64encode(value.encode()).decode(),
        lambda value: urlsafe_b64encode(value.encode()).decode().rstrip("="),
        lambda value: b64encode(value[::-1].encode()).decode(),
    ],
)
def test_simple_disguises_are_hidden(disguise: Callable[[str], str]) -> None:
    assert Secrets({"KEY": VALUE}).hide(f"<{disguise(VALUE)}>") == "<[secret KEY]>"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "abcd"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
def test_base64_of_a_longer_text_is_hidden(before: str, after: str) -> None:
    shown = b64encode(f"{before}{VALUE}{after}".encode()).decode()
    hidden = Secrets({"KEY": VALUE}).hide(shown)
    assert "[secret KEY]" in hidden
    # At most the characters that the value shares with its neighbours are left.
    assert len(hidden.replace("[secret KEY]", "")) <= len(b64encode((before + after).encode())) + 8


def test_disguises_of_short_values_are_not_searched() -> None:
    assert Secrets({"PIN": "123"}).hide("321") == "321"


def test_a_secret_that_contains_another_is_hidden_completely() -> None:
    secrets = Secrets({"SHORT": "abc", "LONG": "abcdef"})
    assert secrets.hide("abcdef abc") == "[secret LONG] [secret SHORT]"
    assert secrets.hide_in({"a": ["abc", 1, {"b": "xabcdefx"}]}) == {
        "a": ["[secret SHORT]", 1, {"b": "x[secret LONG]x"}]
    }


def test_without_secrets_text_is_unchanged_and_names_are_unknown() -> None:
    secrets = Secrets()
    assert secrets.hide("anything") == "anything"
    with pytest.raises(ToolError, match="no secret 'KEY'"):
        secrets.value_for("KEY", "a.org")


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("shop.org", True),
        ("pay.shop.org", True),
        ("badshop.org", False),
        ("shop.org.evil.net", False),
        ("", False),
    ],
)
def test_a_secret_of_a_host_is_typed_there_only(host: str, is_allowed: bool) -> None:
    secrets = Secrets({"KEY@Shop.org": "swordfish"})
    assert secrets.names == ["KEY"] and secrets.hide("swordfish") == "[secret KEY]"
    if is_allowed:
        assert secrets.value_for("KEY", host) == "swordfish"
    else:
        with pytest.raises(ToolError, match=r"for shop\.org only"):
            secrets.value_for("KEY", host)
