"""The registry: order, pages that survive change, one signal for each change, teaching errors."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.registry import Registry
from dovetail.errors import DuplicateError, InvalidParamsError, UsageError


class Counter:
    def __init__(self) -> None:
        self.changes = 0

    def __call__(self) -> None:
        self.changes += 1


def registry_of(*names: str, page_size: int | None = None) -> Registry[str]:
    registry: Registry[str] = Registry("tool", page_size=page_size, on_change=lambda: None)
    for name in names:
        registry.add(name, name.upper())
    return registry


def walk(registry: Registry[str]) -> list[list[str]]:
    """All pages from the first to the last."""
    page = registry.page(None)
    pages = [page.entries]
    while page.next_cursor is not None:
        page = registry.page(page.next_cursor)
        pages.append(page.entries)
    return pages


def test_entries_keep_the_order_in_which_they_came() -> None:
    registry = registry_of("b", "c", "a")
    assert list(registry) == ["B", "C", "A"]
    assert registry.page(None).entries == ["B", "C", "A"]
    registry.remove("c")
    registry.add("c", "C")
    assert list(registry) == ["B", "A", "C"]


def test_an_entry_is_found_by_its_name() -> None:
    registry = registry_of("a")
    assert registry.get("a") == "A"
    assert registry.get("b") is None
    assert "a" in registry
    assert "b" not in registry
    assert len(registry) == 1


def test_a_name_is_taken_until_it_is_removed() -> None:
    registry = registry_of("a")
    with pytest.raises(DuplicateError, match="tool 'a' is registered already"):
        registry.add("a", "other")
    assert registry.get("a") == "A"
    assert registry.remove("a") == "A"
    registry.add("a", "other")
    assert registry.get("a") == "other"


def test_removing_what_is_not_there_says_what_is() -> None:
    with pytest.raises(UsageError, match=r"no tool 'ad' to remove; did you mean 'add'\?"):
        registry_of("add").remove("ad")


def test_a_registry_may_be_changed_while_it_is_walked() -> None:
    registry = registry_of("a", "b")
    for entry in registry:
        registry.remove(entry.lower())
    assert len(registry) == 0


# -- the signal -----------------------------------------------------------------------------


def test_every_change_is_told_once_and_drops_what_was_encoded() -> None:
    counter = Counter()
    registry: Registry[str] = Registry("tool", on_change=counter)
    changes: list[Callable[[], object]] = [
        lambda: registry.add("a", "A"),
        lambda: registry.add("b", "B"),
        lambda: registry.remove("a"),
    ]
    for number, change in enumerate(changes, start=1):
        registry.encoded["page"] = b"old"
        change()
        assert registry.encoded == {}
        assert counter.changes == number


def test_nothing_is_told_and_nothing_dropped_when_nothing_changes() -> None:
    counter = Counter()
    registry: Registry[str] = Registry("tool", page_size=1, on_change=counter)
    registry.add("a", "A")
    registry.encoded["page"] = b"kept"
    with pytest.raises(DuplicateError):
        registry.add("a", "A")
    with pytest.raises(UsageError):
        registry.remove("b")
    registry.page(None)
    registry.get("a")
    assert registry.encoded == {"page": b"kept"}
    assert counter.changes == 1


# -- pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [(0, 2, [0]), (1, 2, [1]), (2, 2, [2]), (3, 2, [2, 1]), (4, 2, [2, 2]), (3, None, [3])],
)
def test_pages_are_full_and_the_last_one_has_no_cursor(
    count: int, size: int | None, lengths: list[int]
) -> None:
    registry = registry_of(*(f"t{n}" for n in range(count)), page_size=size)
    assert [len(page) for page in walk(registry)] == lengths


@pytest.mark.parametrize("gone", ["a", "b", "c"])
def test_a_cursor_stays_good_when_entries_before_it_go(gone: str) -> None:
    registry = registry_of("a", "b", "c", "d", "e", page_size=2)
    cursor = registry.page(None).next_cursor
    registry.remove(gone)
    rest = registry.page(cursor).entries
    assert rest == [entry for entry in ["C", "D"] if entry != gone.upper()] + (
        ["E"] if gone == "c" else []
    )


def test_a_cursor_reaches_entries_that_come_later() -> None:
    registry = registry_of("a", "b", "c", page_size=2)
    cursor = registry.page(None).next_cursor
    registry.add("d", "D")
    assert registry.page(cursor).entries == ["C", "D"]


def test_a_cursor_beyond_the_last_entry_gives_an_empty_page() -> None:
    registry = registry_of("a", "b", "c", page_size=2)
    cursor = registry.page(None).next_cursor
    registry.remove("c")
    page = registry.page(cursor)
    assert (page.entries, page.next_cursor) == ([], None)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 5))
def test_what_stays_is_seen_exactly_once_whatever_comes_and_goes(
    goes: list[bool], size: int
) -> None:
    registry = registry_of(*(f"t{n}" for n in range(len(goes))), page_size=size)
    leaving = [f"t{n}" for n, leaves in enumerate(goes) if leaves]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = registry.page(cursor)
        seen += page.entries
        cursor = page.next_cursor
        if leaving:
            registry.remove(leaving.pop())
        if cursor is None:
            break
    assert len(seen) == len(set(seen))
    assert set(registry) <= set(seen)


@pytest.mark.parametrize("cursor", ["", "5", "AAAAAAAAAA", "x" * 10_000])
def test_a_cursor_of_no_list_of_ours_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidParamsError, match="not one of the list of tools"):
        registry_of("a", "b").page(cursor)


def test_a_cursor_of_another_kind_of_list_is_refused() -> None:
    prompts: Registry[str] = Registry("prompt", page_size=1, on_change=lambda: None)
    prompts.add("a", "A")
    prompts.add("b", "B")
    with pytest.raises(InvalidParamsError):
        registry_of("a", "b", page_size=1).page(prompts.page(None).next_cursor)


# -- suggestions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (["add", "subtract"], "ad", "; did you mean 'add'?"),
        (["add", "adds", "added", "adder"], "add", "; did you mean 'add' or 'adds' or 'adder'?"),
        ([], "add", "; there are no tools"),
        (["add", "sub"], "xyzzy", "; there is: 'add', 'sub'"),
        (list("abcde"), "xyzzy", "; there is: 'a', 'b', 'c', 'd', 'e'"),
        (list("abcdef"), "xyzzy", "; there are 6 tools, see the list"),
        (["add"], "", "; there is: 'add'"),
    ],
)
def test_an_unknown_name_is_answered_with_what_there_is(
    names: list[str], asked: str, said: str
) -> None:
    assert registry_of(*names).suggestion(asked) == said


def test_a_long_hostile_name_costs_little_and_is_not_repeated() -> None:
    registry = registry_of(*(f"{'ab' * 30}{n}" for n in range(200)))
    started = time.process_time()
    said = registry.suggestion("ab" * 5_000_000)
    assert time.process_time() - started < 2
    assert len(said) < 300


def test_of_a_long_name_the_head_is_compared() -> None:
    name = "n" * 120
    assert registry_of(name).suggestion(name + "n" * 100_000) == f"; did you mean '{name}'?"


def test_unlisted_entries_are_found_by_name_only() -> None:
    registry: Registry[str] = Registry("tool", page_size=1, on_change=lambda: None)
    registry.add("old_search", "a", hidden=True)
    registry.add("search", "b")
    assert registry.listed() == ["b"]
    page = registry.page(None)
    assert (page.entries, page.next_cursor) == (["b"], None)
    assert registry.get("old_search") == "a"
    assert registry.suggestion("old_searc") == "; did you mean 'search'?"
    registry.remove("old_search")
    registry.add("old_search", "c")
    assert registry.listed() == ["b", "c"]
