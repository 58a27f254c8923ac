"""Skills of a server (SEP-2640): listed first, and verified when they are read.

A listing names the files of each skill with digest and size. Files are read only when the skill is
used, and what the server sends must be what it listed. The text of a skill is an instruction for a
model, so a skill that differs from its listing is not used.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from dovetail.client.results import ReadResult
from dovetail.errors import MissingPackageError, PeerError, UsageError
from dovetail.spec.models import BlobContents

__all__ = ["EXTENSION", "ListSkillsResult", "Skill", "SkillEntry", "SkillFile", "load_skill"]

EXTENSION = "io.modelcontextprotocol/skills"
_DIGEST = "sha256:"
_FENCE = "---"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


class SkillFile(Struct, frozen=True):
    """One file of a skill, as it was listed."""

    uri: str
    digest: str
    size: int


class SkillEntry(Struct, frozen=True):
    """A skill, as it was listed."""

    uri: str
    frontmatter: dict[str, Any]
    resources: tuple[SkillFile, ...] = ()

    @property
    def name(self) -> str:
        """The name of the skill."""
        return str(self.frontmatter.get("name", ""))

    @property
    def description(self) -> str:
        """What the skill is for."""
        return str(self.frontmatter.get("description", ""))


class ListSkillsResult(Struct, rename="camel"):
    """The result of skills/list."""

    skills: list[SkillEntry]
    next_cursor: str | None = None


ReadResource = Callable[[str], Awaitable[ReadResult]]


class Skill:
    """A loaded skill: its verified text, and its other files."""

    def __init__(self, entry: SkillEntry, text: str, read: ReadResource) -> None:
        self.entry = entry
        # The content of SKILL.md.
        self.text = text
        self._read = read

    async def read(self, uri: str) -> bytes:
        """A verified file of the skill; raises UsageError for a file that is not listed."""
        return await _read_file(self.entry, uri, self._read)


async def load_skill(entry: SkillEntry, read: ReadResource) -> Skill:
    """Read SKILL.md; raises PeerError if it is not what was listed."""
    data = await _read_file(entry, entry.uri, read)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise PeerError(f"{entry.uri} is not UTF-8 text") from None
    if _read_frontmatter(text, entry.uri) != entry.frontmatter:
        raise PeerError(f"The frontmatter of {entry.uri} differs from the listing; do not use it")
    return Skill(entry, text, read)


async def _read_file(entry: SkillEntry, uri: str, read: ReadResource) -> bytes:
    listed = {file.uri: file for file in entry.resources}
    file = listed.get(uri)
    if file is None:
        names = ", ".join(listed) or "none"
        raise UsageError(f"The skill {entry.name!r} has no file {uri!r}; its files: {names}")
    data = _take_bytes(await read(uri), uri)
    if len(data) != file.size:
        raise PeerError(
            f"{uri} has {len(data)} bytes, and the listing says {file.size}; do not use it"
        )
    found = _DIGEST + hashlib.sha256(data).hexdigest()
    if not hmac.compare_digest(found, file.digest):
        raise PeerError(f"{uri} does not match the digest in the listing; do not use it")
    return data


def _take_bytes(result: ReadResult, uri: str) -> bytes:
    if len(result.contents) != 1:
        raise PeerError(f"{uri} was answered with {len(result.contents)} contents, expected one")
    contents = result.contents[0]
    if isinstance(contents, BlobContents):
        return base64.b64decode(contents.blob)
    return contents.text.encode()


def _read_frontmatter(text: str, uri: str) -> Any:
    # YAML is needed for skills only.
    with MissingPackageError.when_importing("yaml", "Reading skills", "dovetail-mcp[skills]"):
        import yaml  # noqa: PLC0415
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != _FENCE or _FENCE not in map(str.rstrip, lines[1:]):
        raise PeerError(f"{uri} has no frontmatter")
    end = [line.rstrip() for line in lines].index(_FENCE, 1)

    class Loader(yaml.SafeLoader):
        """Leaves dates as text, as JSON has them."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    try:
        return yaml.load("\n".join(lines[1:end]), Loader)
    except yaml.YAMLError:
        raise PeerError(f"The frontmatter of {uri} is not valid YAML") from None
