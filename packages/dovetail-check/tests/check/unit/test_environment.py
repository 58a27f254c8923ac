from __future__ import annotations

from dovetail_check.environment import plain_environment


def test_what_a_program_needs_is_handed_on_and_nothing_else() -> None:
    given = {
        "PATH": "/bin",
        "Path": "c:/",
        "LC_ALL": "C",
        "API_KEY": "secret",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "HTTPS_PROXY": "http://name:password@example.com",
    }
    assert plain_environment(given) == {"PATH": "/bin", "Path": "c:/", "LC_ALL": "C"}
