"""Words that mean nothing in a question, and words that mean nearly the same.

The lists are about requests to software in general, not about any particular set of tools.
"""

from __future__ import annotations

import re

from dovetail.compose.search.stemming import stem

__all__ = ["ABBREVIATIONS", "IMPLIED", "STOP_WORDS", "SYNONYMS"]

_STOP_WORDS = """
a about above actually after again also am an and any anybody anyone anything are as ask at be
because been before being but by can cannot could couldn did didn do does doesn doing don done
else for from give given had has hasn have haven having he help her here him his how i if in into
is isn it its itself just know let like ll m may maybe me might mine my myself need needs no nor
not now of off on once one only onto or other our ours out over own please possible quite rather
re really s same shall she should so some somebody someone something such t tell than thank thanks
that the their theirs them then there these they thing things this those through to too tool tools
until up upon us use used using ve very via wanna want wants was wasn way we were what when where
whether which while who whom whose why will with within without won would you your yours yourself
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

# Verbs that have an opposite with "un".
_REVERSIBLE = """
approve archive assign block follow install link lock merge mount pin publish register share stack
star subscribe suspend watch
"""
# Word -> the words that it stands for.
ABBREVIATIONS = {
    "admin": "administrator",
    "app": "application",
    "apps": "application",
    "auth": "authentication",
    "config": "configuration",
    "db": "database",
    "dir": "directory",
    "dirs": "directory",
    "doc": "document",
    "docs": "document",
    "env": "environment",
    "img": "image",
    "info": "information",
    "mr": "merge request",
    "msg": "message",
    "org": "organization",
    "orgs": "organization",
    "organisation": "organization",
    "organisations": "organization",
    "perms": "permission",
    "pr": "pull request",
    "prs": "pull request",
    "ref": "reference",
    "refs": "reference",
    "repo": "repository",
    "repos": "repository",
    "spec": "specification",
    "stats": "statistics",
    "todo": "task",
    "todos": "task",
    # People say "remove the star" for unstar.
    **{f"un{verb}": f"un{verb} {verb} remove" for verb in _REVERSIBLE.split()},
}

# Phrases of a question -> what they say about the wanted tool. "..." stands for up to six words:
# "take the label off".
_PHRASES = {
    # A question asks for information.
    "which|who|whom|what|show": "list",
    "^(?:are|can|did|does|do|had|has|have|how|is|was|were|when|where|what is)": "get",
    "one (?!of)|single|certain|particular|specific": "get",
    "look ... up|find out|show|print|details": "get",
    "tell me": "describe",
    "how (?:many|often|much)": "count",
    "find|look (?:for|on|in)|search": "search",
    "(?:get|go|way|drive|walk|travel) from": "directions",
    # APIs call the person who says "my" the authenticated user.
    "i|me|my|mine|myself": "authenticated",
    "am i": "whoami",
    # Phrasal verbs, and others that names of tools rarely have.
    "(?:turn|switch) ... on": "enable",
    "(?:turn|switch) ... off": "disable",
    "(?:take|get|kick|strip|throw) ... (?:off|out|away)": "remove",
    "take back|get rid|no longer": "remove",
    "throw ... away|get rid": "delete",
    "bring ... back|undo|undelete": "restore",
    "roll ... back": "rollback",
    "kick ... off": "run",
    "set ... up|leave|define|introduce|^(?:comment|reply|respond)": "create",
    "put": "add",
    "answer": "reply",
    "decide|choose": "set",
    "only": "restrict",
    "let|grant|may|allowed": "allow",
}
_GAP = r"(?: \S+){0,6} "
# (pattern of a phrase, stem of what it implies)
IMPLIED = tuple(
    (re.compile(rf"\b(?:{phrase.replace(' ... ', _GAP)})\b", re.IGNORECASE), stem(word))
    for phrase, word in _PHRASES.items()
)

# Each line is a group of words that stand for one another in a question.
_GROUPS = """
abort cancel end halt interrupt kill stop terminate
accept agree approve confirm
access permission privilege right
account member people person user
activate allow enable permit
activity event happen
add append create insert include make new put
address location place
adjust alter change correct edit fix modify reword rename set tweak update
alert alarm notify notification warn warning
alert box dialog modal popup prompt
all each entire every everything whole
plus sum total
fact observation
connected link neighbor relation step traverse
whoami current
allow grant let may permit
analyze analysis examine inspect investigate
annotation metadata
answer reply respond response
api endpoint
archive backup
argument parameter
assign allocate delegate responsible
attach upload import
attachment asset file
author creator owner
authenticated current own
automatic automatically auto
ban block deny disallow forbid prevent reject
banner cover
billing budget charge cost expense invoice money pay price spend
bookmark favorite star
branch reference
broken invalid wrong
browse enumerate list overview
browser chrome
bug issue problem ticket
build ci pipeline workflow
bulk batch many multiple several
buy order purchase
cached cache
calendar schedule
call invoke
capture screenshot snapshot
category kind type
chart diagram graph plot
chat conversation discussion message thread
check test validate verify
choose pick select switch
claim property
clean clear delete destroy discard drop erase purge remove
client customer
clone copy duplicate replicate
close shut
code script source
collaborator colleague contributor
color colour
column field
combine join merge
command instruction
comment note remark
company organization
compare diff difference
compute calculate
condition rule
configuration option preference setting
connect link
contact person
contain have include
content body inside text
convert transform translate turn
count how number total amount
coordinate latitude longitude position
credential password secret
current latest newest recent
customize custom
dashboard board
data information
date day time
deactivate disable
decline dismiss refuse reject
default standard
define specify
deliver post publish send submit
dependency library
deploy deployment release rollout ship
describe detail explain summary tell
description caption
design drawing graphic
detect discover find locate lookup query search seek
device machine
directions route
directory folder
disk filesystem
display fetch get obtain look print read retrieve see show view
distance far
document file page
domain host
download export
draft unpublished
email mail
emoji reaction smiley
employee staff
enterprise company
entity object thing
entry item record row
environment stage
error exception failure fault mistake
evaluate execute launch run start trigger
exclude except ignore skip
exist existing
expire expiration expiry
external outside
fail crash
feature functionality
feedback opinion review
flaky unstable unreliable
follow follower subscribe watch
follower subscriber
fork copy
form questionnaire
format layout
function method
group team
guide manual tutorial
health healthy
hide conceal private
history past previous version
hook webhook
hostname server
icon symbol
identify identity whoami
image photo picture
immutable locked
import migrate migration
increase raise
install installation setup
invite invitation
job run task
key token
keyboard type
label tag
language locale
license licence
limit cap maximum quota restrict restriction
line text
load open
lock freeze
log output print
login session signin
manage administer control
map geography
mark flag
measure metric statistic usage
meeting appointment event
memory remember
milestone goal deadline
mistake error
monitor observe track
mouse cursor pointer
move transfer relocate
name title called
navigate go visit
network connection
nested child sub
notify inform
old legacy outdated
pause wait
pending waiting
performance slow speed fast
phone call telephone
plan subscription
platform service
policy rule
popular top
priority urgency
process handle
profile bio
progress status state
project repository
protect protection secure security
public open visible
pull merge
push commit
question ask
random arbitrary
rank sort order
rate speed
rebuild build
recipient addressee
recover restore undelete undo
redo repeat rerun restart retry again
region area
relation relationship connection
reload refresh
remind reminder
render draw
repair fix
replace overwrite substitute
report summary
request ask
require mandatory must
reset revert rollback
resize size
resolve solve
resource asset
role position
save store write
scan scanner
schema structure
scroll page
section part
share publish
shell terminal
sign signature
simulate simulated fake
snippet gist
spreadsheet table
stack pile
stale inactive unused
storage disk
style css
suggest recommend
suspend pause
sync synchronize
tab page website site web
table collection
template pattern
temporary tmp
text word
topic subject theme
trace record
trash bin
tree hierarchy
trend popular
upstream origin original
url link address
variable value
vendor supplier
vulnerability weakness
weather forecast
widget element component
worker runner
""".strip().splitlines()


def _find_synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _GROUPS:
        stems = frozenset(map(stem, group.split()))
        for each in stems:
            found[each] = found.get(each, frozenset()) | stems - {each}
    return found


# Stem -> stems that may replace it.
SYNONYMS = _find_synonyms()
