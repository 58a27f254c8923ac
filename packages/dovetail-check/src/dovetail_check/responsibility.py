"""Who can fix a violation: the author of the server, or the SDK that it uses.

An SDK builds messages, transports and lists, so a violation there occurs in every server that uses
it. The author decides on names, schemas, contents, configuration and credentials.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

__all__ = ["AUTHOR", "SDK", "responsible_for"]

AUTHOR, SDK = "server", "sdk"

# Requirements on what an author writes or configures.
_BY_AUTHOR = (
    "auth.*",
    "sbp.*",
    "*.authenticate",
    "*.bind-localhost",
    "*.origin*",
    "base.icons.*",
    "base.jsonschema.*",
    "lifecycle.init.serverinfo-fields",
    "versioning.extension-*",
    "tools.schema.*",
    "tools.inputschema.*",
    "tools.outputschema.*",
    "tools.name.*",
    "tools.xheader.*",
    "tools.annotations.*",
    "tools.call.image-audio",
    "tools.call.resource-link",
    "tools.call.embedded*",
    "tools.call.structured-*",
    "tools.call.output-*",
    "tools.security.*",
    "resources.uri.*",
    "resources.schema.*",
    "resources.template.*",
    "resources.annotations",
    "resources.read.mime-consistent",
    "resources.security.*",
    "prompts.schema.*",
    "prompts.get.image",
    "prompts.get.audio",
    "prompts.get.embedded-*",
    "prompts.get.resource-link",
    "prompts.security",
    "completion.sorted",
    "completion.fuzzy",
    "logging.rate-limit",
    "logging.context",
    "logging.logger-name",
    "logging.remove-sensitive",
    "logging.no-*",
    "progress.increases",
    "progress.rate*",
    "elicit.form.no-*",
    "elicit.url.*",
    "elicit.sensitive-by-url",
    "elicit.handle-decline",
    "elicit.not-assume-success",
    "sampling.include-context",
    "sampling.iteration-limit",
    "sampling.deprecated",
    "roots.deprecated",
)
# Exceptions: an SDK looks tools up by name, and validates arguments.
_BY_SDK = ("tools.name.case", "tools.security.validate")


def responsible_for(id: str) -> str:
    """Return who can fix a violation of a requirement: AUTHOR or SDK."""
    is_authors = any(fnmatchcase(id, glob) for glob in _BY_AUTHOR) and id not in _BY_SDK
    return AUTHOR if is_authors else SDK
