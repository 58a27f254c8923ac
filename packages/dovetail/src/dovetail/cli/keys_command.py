"""`dovetail keys`: create, list, rotate and revoke API keys, and create state keys.

An API key is shown only once.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import click

from dovetail.auth.api_keys import KeyFile, KeyRecord
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.printing import print_json
from dovetail.eras.modern.sealing import MIN_KEY_BYTES
from dovetail.errors import StoreError, UsageError
from dovetail.runtime.state import CLUSTER, ServerState, open_state

__all__ = ["keys"]

_DURATION = re.compile(r"(?P<number>\d+)(?P<unit>s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}

_file = click.option(
    "--file",
    "path",
    type=click.Path(dir_okay=False),
    envvar="DOVETAIL_KEYS",
    default="keys.json",
    show_default=True,
    help="Key file, which stores hashes; also set by DOVETAIL_KEYS.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def _parse_duration(value: str) -> float:
    """Seconds from 30s, 15min, 12h or 90d."""
    match = _DURATION.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"expected a duration like 30s, 15min, 12h or 90d, got {value!r}")
    return float(int(match["number"]) * _SECONDS[match["unit"]])


@click.group()
def keys() -> None:
    """Create, list, rotate and revoke API keys; create state keys.

    To require a key: dovetail run FILE --http PORT --keys keys.json
    """


@keys.command()
@click.argument("label")
@click.option(
    "--scope", "scopes", multiple=True, metavar="SCOPE", help="Grant this scope (repeatable)."
)
@click.option(
    "--expires",
    type=_parse_duration,
    metavar="DURATION",
    help="Let the key expire after this time: 90d, 12h.",
)
@_file
@_json
def add(
    label: str, scopes: tuple[str, ...], expires: float | None, path: str, as_json: bool
) -> None:
    """Create a key; LABEL names its owner."""
    until = None if expires is None else time.time() + expires
    record, text = _do(lambda: KeyFile(path).add(label, scopes, until))
    _show_new(record, text, as_json)


@keys.command(name="list")
@_file
@_json
def list_keys(path: str, as_json: bool) -> None:
    """List the keys in the file. Their secrets are not stored."""
    records = _do(KeyFile(path).read)
    facts = [_describe(record) for record in records]
    if as_json:
        print_json(facts)
        return
    for fact in facts:
        scopes = " ".join(fact["scopes"]) or "no scopes"
        expires = fact["expires"] or "never"
        click.echo(f"{fact['id']}  {fact['state']:8}  {scopes}  expires {expires}  {fact['label']}")
    if not facts:
        click.echo("No keys.")


@keys.command()
@click.argument("id")
@_file
@click.option(
    "--cluster",
    "url",
    metavar="URL",
    envvar=CLUSTER,
    help=f"Revoke it in all processes of this cluster too; also {CLUSTER}.",
)
@click.option("--server", metavar="NAME", help="Name of the server; needed with a cluster.")
def revoke(id: str, path: str, url: str | None, server: str | None) -> None:
    """Revoke a key permanently.

    Running servers that read this file reject it within a second; with --cluster, those on other
    machines do so at once, whatever is in their files.
    """
    if url is not None and server is None:
        raise Failure("Each server has its own cluster: add --server NAME", WRONG_USAGE)
    state = None if url is None else _do(lambda: open_state(url, server or ""))
    record = _do(lambda: KeyFile(path).revoke(id))
    if state is not None:
        _revoke_in_cluster(state, record, path)
    click.echo(f"Key {record.id} ({record.label}) is revoked.")


def _revoke_in_cluster(state: ServerState, record: KeyRecord, path: str) -> None:
    async def revoke_everywhere() -> None:
        async with state.opened():
            await state.revocations.revoke(record.id, record.expires)

    try:
        asyncio.run(revoke_everywhere())
    except StoreError as error:
        raise Failure(
            f"Key {record.id} is revoked in {path}, but not in the cluster: {error}. Run the "
            "command again",
            FAILED_CALL,
        ) from None


@keys.command()
@click.argument("id")
@click.option(
    "--grace",
    type=_parse_duration,
    default="0s",
    show_default=True,
    metavar="DURATION",
    help="Accept the old secret for this long.",
)
@_file
@_json
def rotate(id: str, grace: float, path: str, as_json: bool) -> None:
    """Replace the secret of a key.

    Its id, label and scopes stay the same.
    """
    record, text = _do(lambda: KeyFile(path).rotate(id, grace))
    _show_new(record, text, as_json)


@keys.command()
def state() -> None:
    """Print a new state key, which all processes of a cluster need.

    \b
    (umask 077; dovetail keys state > state.keys)
    dovetail run FILE --http PORT --cluster URL --state-keys state.keys

    To replace a key, add a new one as the second line in all files, then move it to the first
    line. Running servers read the changes within a second.
    """
    click.echo(secrets.token_hex(MIN_KEY_BYTES))


def _do(work: Any) -> Any:
    try:
        return work()
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except OSError as error:
        raise Failure(f"{error.filename}: {error.strerror}", WRONG_USAGE) from None


def _show_new(record: KeyRecord, text: str, as_json: bool) -> None:
    if as_json:
        print_json({**_describe(record), "key": text})
        return
    click.echo(text)
    click.echo(
        f"Created key {record.id} for {record.label}. Copy it now: only a hash is stored.", err=True
    )


def _describe(record: KeyRecord) -> dict[str, Any]:
    now = time.time()
    state = "active" if record.is_valid(now) else "expired"
    return {
        "id": record.id,
        "label": record.label,
        "scopes": record.scopes,
        "created": _format_time(record.created),
        "expires": _format_time(record.expires),
        "state": state if record.revoked is None else "revoked",
    }


def _format_time(moment: float | None) -> str | None:
    if moment is None:
        return None
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")
