from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from dovetail_vault.vocabulary import Vocabulary

WORDS = st.lists(st.text("abc", min_size=1, max_size=5), unique=True, max_size=30)


@given(WORDS, WORDS, st.text("abc", min_size=1, max_size=3), st.booleans(), st.booleans())
def test_find_words_by_substring(
    first: list[str], second: list[str], piece: str, at_start: bool, at_end: bool
) -> None:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT)")
    vocabulary = Vocabulary()
    words = list(dict.fromkeys([*first, *second]))
    for known in (len(first), len(words)):
        have = database.execute("SELECT count(*) FROM terms").fetchone()[0]
        rows = [(word,) for word in words[have:known]]
        database.executemany("INSERT INTO terms(term) VALUES (?)", rows)
        vocabulary.refresh(database)
    database.close()
    expected = [
        number
        for number, word in enumerate(words, 1)
        if (word == piece if at_start and at_end
            else word.startswith(piece) if at_start
            else word.endswith(piece) if at_end
            else piece in word)
    ]  # fmt: skip
    assert vocabulary.find(piece, at_start=at_start, at_end=at_end) == expected
