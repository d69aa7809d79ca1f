"""Names of topics: no two tables have one, and Kafka takes each."""

from __future__ import annotations

import pytest

from tailer.errors import SinkError, UsageError
from tailer.sinks.envelope.topics import TopicNames


def test_cassandras_names_stand_as_they_are() -> None:
    assert TopicNames("cdc-{node}.{keyspace}.{table}", "n1").of("Shop", "orders_2") == "cdc-n1.Shop.orders_2"


def test_names_that_kafka_refuses_are_spelled_in_hex_digits() -> None:
    assert TopicNames("{keyspace}.{table}", "n1").of("ks.1", "naïve-t") == "ks-2E1.na-C3-AFve-2Dt"


def test_no_two_names_become_one() -> None:
    topics = TopicNames("{keyspace}.{table}", "n1")
    names = ["a-2E", "a.", "a_", "a-", "a-2D", "a2D", "ä", "a", "A"]
    assert len({topics.of(one, two) for one in names for two in names}) == len(names) ** 2


@pytest.mark.parametrize(
    "template", ["{nodes}", "a b", "ä.{table}", "{", "{keyspace}.{table}}", "{}", "", ".", "{table!r}"]
)
def test_a_template_that_makes_no_topic_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match="--topic"):
        TopicNames(template, "n1")


def test_a_name_that_is_too_long_is_refused() -> None:
    assert len(TopicNames("{table}", "n1").of("ks", "t" * 249)) == 249
    with pytest.raises(SinkError, match="250 characters"):
        TopicNames("{table}", "n1").of("ks", "t" * 250)


def test_two_tables_with_one_topic_are_refused_where_the_template_tells_them_apart() -> None:
    topics = TopicNames("{keyspace}_{table}", "n1")
    assert topics.of("a_b", "c") == topics.of("a_b", "c") == "a_b_c"
    with pytest.raises(SinkError, match=r"a\.b_c and a_b\.c"):
        topics.of("a", "b_c")
    together = TopicNames("all", "n1")
    assert together.of("a", "b") == together.of("c", "d") == "all"
