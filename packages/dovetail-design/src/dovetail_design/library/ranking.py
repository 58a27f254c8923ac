"""Search in the library: compares the words of a query with the words of entries.

A word matches exactly, as a prefix, or through a synonym, in this order of score. Entries that
match every word come first; if there are none, entries that match most words are returned, so
that a long query still finds something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TypeVar

__all__ = ["rank", "split_words", "synonyms_of"]

Entry = TypeVar("Entry")

_WORD = re.compile(r"[a-z0-9]+")
_EXACT, _FIRST, _BEGINS, _SYNONYM, _INSIDE = 8.0, 4.0, 3.0, 2.0, 1.0
# Stop words.
_FILLERS = frozenset(
    {"a", "an", "and", "any", "background", "backgrounds", "clipart", "for", "from", "icon"}
    | {"icons", "illustration", "illustrations", "image", "images", "in", "me", "my", "of", "on"}
    | {"or", "picture", "shape", "shapes", "some", "the", "to", "with"}
)

# Each line is a set of synonyms.
_SYNONYMS = """
home house building residence
mail email envelope letter message
phone telephone call mobile smartphone
car automobile vehicle auto
bin trash delete remove garbage
cart basket shopping shop store buy purchase
money cash dollar coin currency finance payment price
photo camera picture image gallery
person user people human profile account contact
love heart favourite favorite like valentine
search find magnifier magnifying zoom lookup
settings gear cog options preferences configuration
warning alert danger caution attention
check tick done ok success yes confirm
cross close cancel x no
time clock hour watch schedule
date calendar event appointment day
music note song audio sound
movie film video cinema clapperboard
food meal restaurant dinner eat fork
drink cup coffee tea mug beverage
wine bottle bar beer alcohol glass
sun sunny summer day
moon night dark sleep
rain umbrella storm weather
snow winter cold ice snowflake
tree forest wood nature plant
flower blossom floral garden rose
water drop liquid ocean sea wave
fire flame hot burn
mountain hill peak landscape hiking
plane airplane flight travel trip aeroplane
train railway subway metro
bike bicycle cycling
map location pin place marker gps
world globe earth planet international
book read library literature education
school student graduation education learn study teacher
pencil pen write edit draw
paint brush art artist palette colour color
idea bulb lightbulb lamp light inspiration
work job briefcase business office career
chart graph statistics analytics diagram growth report
computer laptop desktop pc screen monitor
code programming developer software terminal
cloud weather upload storage
lock secure security password private key
shield protect safety security guard
gift present birthday surprise
party celebration confetti balloon birthday cake
star favourite favorite rating award
trophy award winner prize medal cup champion
health medical hospital doctor medicine first-aid
baby child kid toy children
dog cat pet animal paw
fish sea aquarium
bird fly feather
rocket launch startup space
game controller play joystick dice
sport ball football soccer basketball
speaker megaphone announcement advertise marketing
chat message bubble conversation talk comment speech
arrow direction pointer next
up top rise increase
down bottom fall decrease
stop halt forbidden prohibit
info information help question about
document file paper page
folder directory archive
print printer paper
download save arrow
share send forward export
link chain url connect
wifi internet network wireless signal
battery power charge energy
power electric plug energy bolt lightning
tool wrench hammer repair build construction
truck delivery shipping transport
box package parcel delivery
recycle eco green environment leaf
abstract geometric modern
wave curve flow
""".strip()


def split_words(text: str) -> list[str]:
    """Return the normalised words of a query, without stop words unless all are."""
    words = _WORD.findall(text.lower())
    return [word for word in words if word not in _FILLERS] or words


@cache
def _synonym_table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _SYNONYMS.splitlines():
        ideas = line.split()
        for word in ideas:
            table.setdefault(word, set()).update(ideas)
    return {word: frozenset(others - {word}) for word, others in table.items()}


def synonyms_of(word: str) -> frozenset[str]:
    """Return the synonyms of a word or its singular."""
    table = _synonym_table()
    return table.get(word) or table.get(word.removesuffix("s"), frozenset())


def rank(query: str, entries: Mapping[Entry, Sequence[str]]) -> list[Entry]:
    """Return the matching entries, best first, ties in the given order; all for an empty query.

    The words of an entry must be ordered by importance: earlier words count more.
    """
    wanted = split_words(query)
    if not wanted:
        return list(entries)
    alike = {word: synonyms_of(word) for word in wanted}
    found: list[tuple[int, float, int, Entry]] = []
    for place, (entry, words) in enumerate(entries.items()):
        fits = [_worth(word, alike[word], words) for word in wanted]
        hits = sum(1 for fit in fits if fit)
        if hits:
            found.append((-hits, -sum(fits), place, entry))
    found.sort(key=lambda row: row[:3])
    best = found[0][0] if found else 0
    # Entries that match one word of three are noise beside those that match all.
    enough = best if -best == len(wanted) else min(-1, best + 1)
    return [entry for hits, _, _, entry in found if hits <= enough]


def _worth(word: str, alike: Iterable[str], words: Sequence[str]) -> float:
    best = total = 0.0
    singular = word.removesuffix("s") if len(word) > 3 else word
    for place, candidate in enumerate(words):
        if candidate in (word, singular):
            worth = _EXACT + (_FIRST if place == 0 else 0)
        elif candidate.startswith(singular) and len(singular) > 1:
            worth = _BEGINS
        elif candidate in alike:
            worth = _SYNONYM
        elif len(word) > 3 and word in candidate:
            worth = _INSIDE
        else:
            continue
        worth += 1 / (place + 1)
        best = max(best, worth)
        total += worth
    # An entry that matches in several ways is more relevant than one that mentions the word once.
    return best + min(total - best, _EXACT) / 3
