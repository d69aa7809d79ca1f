"""Names of topics: those of Cassandra as they are, others so that no two tables have one."""

from __future__ import annotations

import pytest

from tailer.errors import SinkError, UsageError
from tailer.sinks.kafka.topics import TopicNames


def test_names_of_cassandra_stand_as_they_are() -> None:
    assert TopicNames("{keyspace}.{table}", "n1").of("shop", "Orders_2") == "shop.Orders_2"
    assert TopicNames("cdc-{node}.{table}", "10.0.0.1").of("shop", "orders") == "cdc-10.0.0.1.orders"
    assert TopicNames("all-changes", "n1").of("shop", "orders") == "all-changes"


def test_other_names_stay_apart() -> None:
    names = TopicNames("{keyspace}.{table}", "n1")
    assert names.of("a b", "c/d") == "a-20b.c-2Fd"
    assert names.of("a", "käse") == "a.k-C3-A4se"
    alike = [("a.b", "c"), ("a", "b.c"), ("a-2Eb", "c"), ("a", "b-2Ec"), ("a-2E", "c")]
    assert len({names.of(*table) for table in alike}) == len(alike)


def test_a_name_that_is_too_long_is_refused() -> None:
    names = TopicNames("{keyspace}.{table}", "n1")
    assert len(names.of("k" * 48, "t" * 200)) == 249
    with pytest.raises(SinkError, match="250 characters"):
        names.of("k" * 49, "t" * 200)


@pytest.mark.parametrize(
    "template", ["", ".", "..", "{tabel}", "{table", "{table!r}", "{table:>9}", "{}", "a b{table}"]
)
def test_a_template_that_makes_no_name_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="--topic"):
        TopicNames(template, "n1")
