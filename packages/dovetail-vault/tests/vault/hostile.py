"""Notes that attack the parser: nesting, expansion, slow patterns, and mutations of all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator


def _front(block: str) -> str:
    return f"---\n{block}\n---\n# Hostile\n\ntext\n"


def _laughs(count: int, repeats: int, line: str) -> str:
    first = "a0: &a0 {x: y}\n" if "<<" in line else "a0: &a0 [x]\n"
    return first + "\n".join(
        line.format(n=n, items=", ".join([f"*a{n - 1}"] * repeats)) for n in range(1, count)
    )


def _heights() -> str:
    """Anchors that are shallow one by one and deep when expanded."""
    nested = "[" * 40 + "*a{n}" + "]" * 40
    return "a0: &a0 x\n" + "\n".join(f"a{n}: &a{n} {nested.format(n=n - 1)}" for n in range(1, 25))


# Text, and a part of what read-note says about its frontmatter.
BOMBS: dict[str, tuple[str, str]] = {
    "flow sequences": (_front("a: " + "[" * 80_000), "nested too deeply"),
    "flow mappings": (_front("a: " + "{" * 80_000), "nested too deeply"),
    "complex keys": (_front("? " * 120_000), "nested too deeply"),
    "block sequences": (_front("- " * 120_000), "nested too deeply"),
    "balanced": (_front("a: " + "[" * 60_000 + "]" * 60_000), "nested too deeply"),
    "merge keys": (
        _front(_laughs(9, 9, "a{n}: &a{n}\n  <<: [{items}]")),
        "too many values",
    ),
    "aliases": (_front(_laughs(9, 9, "a{n}: &a{n} [{items}]")), "too many values"),
    "aliases of a long text": (
        _front("a: &a " + "x" * 200_000 + "\nb: [" + "*a, " * 10_000 + "]"),
        "too long",
    ),
    "deep aliases": (_front(_heights()), "nested too deeply"),
    "alias of itself": (_front("a: &a [*a]"), "inside of its own value"),
    "merge of itself": (_front("a: &a {<<: *a}"), "inside of its own value"),
    "no timestamp": (_front("a: !!timestamp x\nb: !!bool x"), "not of the type bool"),
    "empty float": (_front("a: !!float ''"), "not of the type float"),
    "tags": (
        _front("".join(f"%TAG !a{n}! x\n" for n in range(2_000)) + "--- a"),
        "%TAG",
    ),
}
# Valid frontmatter or none, but slow for regular expressions with adjacent repetitions.
SLOW: tuple[str, ...] = (
    _front('a: "x\nb' + " " * 100_000 + 'c"'),
    "a:: b" + " " * 200_000 + "c\n",
    "".join("`" * n + "x" for n in range(900)) + "\n",
    "[" * 100_000 + "](" * 1_000,
    "> " * 100_000 + "\n```\n",
    "# " + "#" * 100_000 + "\n## a" * 1_000,
)
TOKENS = (
    *("[", "]", "{", "}", "- ", "? ", ": ", "&a ", "*a", "<<: ", "!!int ", "!", "|\n", ">\n"),
    *('"', "'", "#", "---\n", "...\n", "\n", "\r\n", "\t", "  ", "\x00", "\ufeff", "\u2028"),
    *("`", "```\n", "[[", "]]", "](", "^id", "#tag/", "a:: ", "\x85", "😀", "%TAG !a! b\n"),
)


def hostile_documents(draw: random.Random, count: int) -> Iterator[str]:
    """Yield the known ones first, then mutations and random documents."""
    known = [*(text for text, _ in BOMBS.values()), *SLOW]
    for number in range(count):
        if number < len(known):
            yield known[number]
        elif draw.random() < 0.5:
            yield _mutated(draw, draw.choice(known)[: draw.randrange(100, 20_000)])
        else:
            yield _front("".join(draw.choices(TOKENS, k=draw.randrange(1, 300))))


def _mutated(draw: random.Random, text: str) -> str:
    for _ in range(draw.randrange(1, 8)):
        place = draw.randrange(len(text) + 1)
        kind = draw.randrange(3)
        if kind == 0:
            text = (
                text[:place] + draw.choice(TOKENS) * draw.choice((1, 1, 60, 2_000)) + text[place:]
            )
        elif kind == 1:
            text = text[:place] + text[place + draw.randrange(200) :]
        else:
            text = text[:place] + text[: draw.randrange(len(text) + 1)]
    return text
