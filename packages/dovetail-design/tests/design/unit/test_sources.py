from __future__ import annotations

from pathlib import Path

from dovetail_design.library.pictures import list_pictures
from dovetail_design.render_jobs import find_picture_data
from dovetail_design.sources import asset_uri, copy_assets, has_picture_source, source_of
from dovetail_design.storage import AssetRecord
from dovetail_design.studio import Studio
from tests.design.writing import open_studio


def find(studio: Studio, src: str, owner: str = "") -> bytes | None:
    """The bytes that a worker gets for this src."""
    state = {"elements": [{"type": "image", "src": src}, {"type": "text"}]}
    source = source_of(studio, state, owner)
    return find_picture_data(source.pictures, src)


def test_a_source_is_an_asset_or_something_embedded_and_nothing_else(tmp_path: Path) -> None:
    studio = open_studio(tmp_path)
    digest = studio.blobs.keep(b"picture")
    with studio.store.writing() as writer:
        for id, content in (("ast_1", digest), ("ast_lost", "0" * 64)):
            writer.add_asset(AssetRecord(id, id, "IMAGE", "image/png", 7, content, "", 1))
    for src in ("ast_1", asset_uri("ast_1")):
        assert find(studio, src) == b"picture" and has_picture_source(studio, src, "")
    picture = list_pictures()[0]
    assert (find(studio, picture.uri) or b"").startswith(b"<svg")
    assert has_picture_source(studio, picture.uri, "")
    for src in ("ast_2", "embedded:pattern/none", "https://example.org/a.png", "/etc/passwd", ""):
        assert find(studio, src) is None and not has_picture_source(studio, src, "")
    # The row is there and its content is gone: it is drawn as missing, not as a fault of ours.
    assert find(studio, "ast_lost") is None
    # For a design of somebody else the asset is not there.
    assert find(studio, "ast_1", "bo") is None and not has_picture_source(studio, "ast_1", "bo")
    studio.close()


def test_a_copy_for_somebody_else_gets_its_own_assets(tmp_path: Path) -> None:
    studio = open_studio(tmp_path)
    digest = studio.blobs.keep(b"picture")
    picture = {"type": "image", "src": "ast_1"}
    state = {"elements": [picture, {**picture, "src": "ast_2"}, {"type": "text"}]}
    with studio.store.writing() as writer:
        for id, owner in (("ast_1", "ann"), ("ast_2", "cy")):
            writer.add_asset(AssetRecord(id, id, "IMAGE", "image/png", 7, digest, owner, 1))
        assert copy_assets(writer, state, "ann", "ann") is state
        copied = copy_assets(writer, state, "ann", "bo")
    first, second, third = copied["elements"]
    assert find(studio, first["src"], "bo") == b"picture"
    # Only what the owner of the design could show is copied.
    assert (second["src"], third) == ("ast_2", {"type": "text"})
    studio.close()
