"""`Filter`: which entries of a mounted server clients can use, by `include` and `exclude`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from urllib.parse import unquote

from dovetail.core.uri_template import UnsafeValue, UriTemplate
from dovetail.errors import UsageError

__all__ = ["Filter", "spellings"]


class Filter:
    """Names and patterns of entries; those of resources are URIs and URI templates."""

    def __init__(self, include: Iterable[str] | None = None, exclude: Iterable[str] = ()) -> None:
        self._include = None if include is None else _Patterns(include, "include")
        self._exclude = _Patterns(exclude, "exclude")

    @property
    def is_empty(self) -> bool:
        """Whether it hides nothing."""
        return self._include is None and not self._exclude.names

    def shows(self, name: str) -> bool:
        """Whether clients can use the entry of this name."""
        if self._include is not None and not self._include.match(name):
            return False
        return not self._exclude.match(name)

    def shows_uri(self, uri: str, templates: Collection[str] = ()) -> bool:
        """Whether clients can read this URI; `templates` are those that serve it, if any.

        A template decodes what it gets, so a URI is judged in all its spellings. Of several
        templates, the one that runs depends on the caller, so all of them count.
        """
        include, exclude = self._include, self._exclude
        names = list(spellings(uri))
        if include is not None and not (
            all(map(include.match_uri, names)) or (templates and all(map(include.match, templates)))
        ):
            return False
        return not any(map(exclude.match_uri, names)) and not any(map(exclude.match, templates))


class _Patterns:
    def __init__(self, given: Iterable[str], where: str) -> None:
        if isinstance(given, str):
            raise UsageError(f"{where} is a list of names or patterns, [{given!r}] for one")
        self.names = tuple(given)
        self._templates = list(_templates_in(self.names))

    def match(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def match_uri(self, uri: str) -> bool:
        """Whether a pattern or the template in a pattern has this URI."""
        return self.match(uri) or any(_matches(template, uri) for template in self._templates)


def spellings(uri: str) -> Iterator[str]:
    """Yield a URI as it was given, and decoded if that makes a difference."""
    yield uri
    decoded = unquote(uri)
    if decoded != uri:
        yield decoded


def _templates_in(patterns: Iterable[str]) -> Iterator[UriTemplate]:
    for pattern in patterns:
        if "{" in pattern:
            try:
                yield UriTemplate(pattern)
            except UsageError:
                continue  # a pattern for names that have braces


def _matches(template: UriTemplate, uri: str) -> bool:
    try:
        return template.match(uri) is not None
    except UnsafeValue:
        return True
