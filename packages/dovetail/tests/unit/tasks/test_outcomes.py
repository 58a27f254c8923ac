from __future__ import annotations

import json

from dovetail.eras.legacy.era import era_of as legacy_era
from dovetail.errors import InternalError
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.stores.tasks import TaskRow
from dovetail.tasks.outcomes import cancelled_row, failed_row, finished_row
from dovetail.wire import codec

ERA = legacy_era(LATEST_LEGACY)


def working() -> TaskRow:
    return TaskRow(
        id="t",
        owner=None,
        revision=LATEST_LEGACY.date,
        created=1.0,
        updated=1.0,
        expires=None,
        request=b"{}",
        message="half way",
        asks=b"{}",
        record=b"{}",
    )


def test_a_result_is_kept_and_what_only_mattered_on_the_way_is_not() -> None:
    row = working()
    ended = finished_row(row, ERA, codec.encode_result(b"1", b'{"content":[]}'), 1000)
    assert (ended.status, ended.asks, ended.record) == ("completed", None, None)
    assert json.loads(ended.result or b"") == {"content": []}
    assert ended.updated > row.updated
    # The row that was handed in is somebody else's.
    assert (row.status, row.message) == ("working", "half way")


def test_an_error_is_kept_with_its_words() -> None:
    ended = finished_row(working(), ERA, codec.encode_error(b"1", InternalError("no power")), 1000)
    assert (ended.status, ended.message) == ("failed", "no power")
    assert json.loads(ended.error or b"")["code"] == -32603


def test_a_result_over_the_limit_is_a_failure_that_says_so() -> None:
    ended = finished_row(
        working(), ERA, codec.encode_result(b"1", b'{"content":["%b"]}' % (b"x" * 50)), 20
    )
    assert ended.status == "failed" and ended.result is None
    assert ended.message is not None and "the limit is 20" in ended.message


def test_failing_and_cancelling_say_why() -> None:
    assert failed_row(working(), "gone").message == "gone"
    assert cancelled_row(working()).status == "cancelled"
