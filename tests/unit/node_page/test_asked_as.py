"""Which names a page answers to."""

from __future__ import annotations

import pytest

from tailer.node_page.asked_as import asked_rightly


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:9044", "LOCALHOST.", "n1.localhost:80", "127.0.0.1:9044", "127.8.9.1", "[::1]:9044", None],
)
def test_names_of_this_machine(host: str | None) -> None:
    assert asked_rightly(host, "127.0.0.1")
    assert asked_rightly(host, "::1")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9044", "localhost.evil.example", "10.0.0.1", "", "a:b:c", "[::2]", "127.0.0.1.x"],
)
def test_other_names_that_lead_to_loopback(host: str) -> None:
    assert not asked_rightly(host, "127.0.0.1")
    assert not asked_rightly(host, "::ffff:127.0.0.1")


def test_an_address_that_others_reach_has_any_name() -> None:
    assert asked_rightly("n1.cluster.example:9044", "10.0.0.1")
    assert asked_rightly("n1.cluster.example:9044", None)
