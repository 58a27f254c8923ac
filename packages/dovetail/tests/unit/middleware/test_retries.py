"""Retries with growing pauses."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail.middleware.upstream_calls import retry
from tests.unit.talk import run


class Service:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0
        self.pauses: list[float] = []

    async def ask(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def try_it(service: Service, **options: Any) -> str:
    return run(retry(service.ask, sleep=service.sleep, **options))


def test_a_failure_is_retried() -> None:
    service = Service(OSError(), TimeoutError())
    assert try_it(service) == "done"
    assert service.asked == 3
    first, second = service.pauses
    assert 0.1 <= first <= 0.2 <= second <= 0.4


def test_the_last_error_is_raised() -> None:
    service = Service(OSError("1"), OSError("2"), OSError("3"))
    with pytest.raises(OSError, match="3"):
        try_it(service)
    assert service.asked == 3


def test_pauses_have_a_maximum() -> None:
    service = Service(*[OSError()] * 9)
    try_it(service, attempts=10, pause=1, longest_pause=2)
    assert max(service.pauses) <= 2


def test_other_errors_are_not_retried() -> None:
    service = Service(ValueError())
    with pytest.raises(ValueError):
        try_it(service)
    assert service.asked == 1


@pytest.mark.parametrize("options", [{"attempts": 0}, {"pause": -1}, {"longest_pause": -1}])
def test_invalid_options_are_rejected(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        try_it(Service(), **options)
