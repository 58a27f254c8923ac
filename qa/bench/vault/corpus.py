"""A vault of any size, the same for everybody: words by Zipf's law, tags, properties, links."""

from __future__ import annotations

import itertools
import random
import string
import textwrap
from pathlib import Path

__all__ = ["EVERYWHERE", "MIDDLE", "RARE", "make_vault"]

# In one note of a thousand, in one of ten, in every note.
RARE, MIDDLE, EVERYWHERE = "needleword", "midwayword", "everywhere"
_WORDS = 60_000
_PER_NOTE = 210
_SEED = 7


def make_vault(folder: Path, notes: int) -> None:
    """Notes of about 1.5 kB in folders of a thousand."""
    draw = random.Random(_SEED)
    words = [
        "".join(draw.choices(string.ascii_lowercase, k=draw.randint(3, 10))) for _ in range(_WORDS)
    ]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))
    for number in range(notes):
        place = folder / f"folder{number // 1000:03d}"
        if number % 1000 == 0:
            place.mkdir(parents=True)
        text = draw.choices(words, cum_weights=weights, k=_PER_NOTE)
        text.insert(50, EVERYWHERE)
        if number % 1000 == 500:
            text.insert(20, RARE)
        if number % 10 == 5:
            text.insert(30, MIDDLE)
        body = "\n".join(textwrap.wrap(" ".join(text), 90))
        (place / f"note{number}.md").write_text(
            f"---\ntags: [tag{number % 50}, area/x{number % 7}]\nstatus: open\n---\n"
            f"# Note {number} {text[0]}\n\n{body}\n\nSee [[note{number * 7 % notes}]] "
            f"#inline{number % 20}\n",
            "utf-8",
        )
