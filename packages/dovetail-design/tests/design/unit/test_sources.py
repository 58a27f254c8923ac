from __future__ import annotations

from pathlib import Path

from dovetail_design.library.pictures import list_pictures
from dovetail_design.render_jobs import find_picture_data
from dovetail_design.sources import asset_uri, has_picture_source, source_of
from dovetail_design.storage import AssetRecord
from dovetail_design.studio import Studio
from tests.design.writing import open_studio


def find(studio: Studio, src: str) -> bytes | None:
    """The bytes that a worker gets for this src."""
    source = source_of(studio, {"elements": [{"type": "image", "src": src}, {"type": "text"}]})
    return find_picture_data(source.pictures, src)


def test_a_source_is_an_asset_or_something_embedded_and_nothing_else(tmp_path: Path) -> None:
    studio = open_studio(tmp_path)
    digest = studio.blobs.keep(b"picture")
    with studio.store.writing() as writer:
        for id, content in (("ast_1", digest), ("ast_lost", "0" * 64)):
            writer.add_asset(AssetRecord(id, id, "IMAGE", "image/png", 7, content, "", 1))
    for src in ("ast_1", asset_uri("ast_1")):
        assert find(studio, src) == b"picture" and has_picture_source(studio, src)
    picture = list_pictures()[0]
    assert (find(studio, picture.uri) or b"").startswith(b"<svg")
    assert has_picture_source(studio, picture.uri)
    for src in ("ast_2", "embedded:pattern/none", "https://example.org/a.png", "/etc/passwd", ""):
        assert find(studio, src) is None and not has_picture_source(studio, src)
    # The row is there and its content is gone: it is drawn as missing, not as a fault of ours.
    assert find(studio, "ast_lost") is None
    studio.close()
