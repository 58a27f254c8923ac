from __future__ import annotations

from dovetail_check.environment import minimal_environment


def test_only_the_needed_variables_are_passed_on() -> None:
    given = {
        "PATH": "/bin",
        "Path": "c:/",
        "LC_ALL": "C",
        "API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HTTPS_PROXY": "http://name:password@example.com",
    }
    assert minimal_environment(given) == {"PATH": "/bin", "Path": "c:/", "LC_ALL": "C"}
