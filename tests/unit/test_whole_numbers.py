"""Numbers in texts that others wrote: of any length, and none of them ends a program with Python's own error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.metrics.otel import OTEL_METRIC_EXPORT_INTERVAL, _interval_ms
from tailer.options.cassandra_yaml import server_settings
from tailer.options.declared_commands import TABLE as TABLE_OF_OPTIONS
from tailer.options.kinds import SYNC, whole
from tailer.options.sources import read_config
from tailer.position import Position
from tailer.schema.cql_file import read_cql
from tailer.schema.follow import SchemaState
from tailer.schema.ring import replica_count
from tailer.schema.server import Server
from tailer.serve.clients import read_clients, read_tokens
from tailer.sinks.image_node import apart, image_node
from tailer.sinks.kafka.settings import settings_of
from tailer.snapshot.wanted import _numbers
from writer_hooks.act_lines import _attrs

LONG = "9" * 5000


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("18446744073709551615", 2**64 - 1),
        ("9" * 20, 10**20 - 1),
        ("9" * 21, None),
        (LONG, None),
        ("", None),
        ("-1", None),
        ("+1", None),
        (" 1", None),
        ("1_0", None),
        ("1e3", None),
        ("\u0661", None),
        ("\u00b2", None),
    ],
)
def test_a_number_is_ascii_digits_that_64_bits_may_need(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: Position.parse(f"{LONG}:0"), None),
        (lambda: Position.parse(f"1:{LONG}"), None),
        (lambda: whole(1, 5, "N").read(LONG), None),
        (lambda: replica_count(LONG), 0),
        (lambda: apart(f"images_{LONG}..{LONG}", "images_1..2"), False),
        (lambda: apart(image_node((-(2**63), -1)), image_node((0, 2**63 - 1))), True),
        (lambda: apart(image_node((-(2**63), 0)), image_node((0, 2**63 - 1))), False),
    ],
)
def test_a_long_one_is_none(read: Callable[[], Any], expected: object) -> None:
    assert read() == expected


@pytest.mark.parametrize(
    "read",
    [
        lambda: Server.parse(f"host:{LONG}"),
        lambda: _numbers(f"{LONG}.0"),
        lambda: _numbers(f"5.{LONG}"),
        lambda: _interval_ms({OTEL_METRIC_EXPORT_INTERVAL: LONG}),
        lambda: SYNC.take(f"group:{LONG}", "--sync"),
        lambda: SYNC.take(f"periodic:{LONG}", "--sync"),
        lambda: _attrs({"attrs": {}}, f'{{"attrs": {{"a": {LONG}}}}}'),
    ],
)
def test_a_long_one_is_refused(read: Callable[[], Any]) -> None:
    with pytest.raises(UsageError):
        read()


Read = Callable[[Path], Any]


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_config, "[follow]\nconsumer = {}\n"),
        (read_tokens, '[a]\ntoken = "0123456789abcdef"\nconsumers = {}\n'),
        (read_clients, '[a]\ncertificate = "a"\nconsumers = {}\n'),
        (server_settings, "cdc_raw_directory: /x\ncdc_total_space_in_mb: {}\n"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
@pytest.mark.parametrize(
    "value",
    [LONG, f"-{LONG}", f"0x{'f' * 5000}", "[" * 5000, "2024-13-45"],
    ids=["long", "-long", "hex", "deep", "no day"],
)
def test_a_file_with_one_is_refused(read: Read, text: str, value: str, tmp_path: Path) -> None:
    """Also where what reads files of this form has an error of its own for a value."""
    file = tmp_path / "file"
    file.write_text(text.format(value))
    with pytest.raises(UsageError) as refused:
        read(file)
    assert str(file) in refused.value.sentence()


@pytest.mark.parametrize("value", [".inf", "-.inf", ".nan", f"1{'0' * 400}"])
def test_a_number_without_end_is_refused(value: str, tmp_path: Path) -> None:
    file = tmp_path / "cassandra.yaml"
    file.write_text(f"cdc_raw_directory: /x\ncdc_total_space_in_mb: {value}\n")
    with pytest.raises(UsageError, match="cdc_total_space_in_mb"):
        server_settings(file)


ID = "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a"
TABLE = f"CREATE TABLE ks.t (k int PRIMARY KEY, v int, w int) WITH cdc = true AND id = {ID}{{}};"
DROP = TABLE.format("") + " ALTER TABLE ks.t DROP w USING TIMESTAMP {};"
GRACE = TABLE.format(" AND gc_grace_seconds = {}")


@pytest.mark.parametrize(
    ("text", "number"),
    [(DROP, 2**63), (DROP, 10**20), (DROP, LONG), (GRACE, 2**31), (GRACE, 10**20), (GRACE, LONG)],
)
def test_cql_beyond_what_a_server_takes_is_refused(text: str, number: object, tmp_path: Path) -> None:
    file = tmp_path / "schema.cql"
    file.write_text(text.format(number))
    with pytest.raises(UsageError, match="line 1 of the CQL file") as refused:
        read_cql(file)
    assert len(refused.value.sentence()) < 500


@pytest.mark.parametrize(("text", "number"), [(DROP, 2**63 - 1), (DROP, 0), (GRACE, 2**31 - 1)])
def test_the_most_that_a_server_takes_is_read(text: str, number: int, tmp_path: Path) -> None:
    file = tmp_path / "schema.cql"
    file.write_text(text.format(number))
    state = SchemaState()
    state.apply(read_cql(file))
    state.apply(read_cql(file))
    assert [table.name for table in state.definitions.values()] == ["ks.t"]


@pytest.mark.parametrize("name", ["batch.size", "transaction.timeout.ms"])
@pytest.mark.parametrize("value", [LONG, "0x10000", "1e5", "many"])
def test_a_property_of_kafka_that_is_reckoned_with_is_a_whole_number(name: str, value: str, tmp_path: Path) -> None:
    """librdkafka reads some of these, each in its own way."""
    file = tmp_path / "kafka.properties"
    file.write_text(f"{name}={value}\n")
    with pytest.raises(UsageError, match=name):
        settings_of("localhost:1", file, {})


HUGE = int("f" * 5000, 16)


@pytest.mark.parametrize("value", [HUGE, -HUGE, [HUGE], {"n1": HUGE}], ids=["plus", "minus", "list", "table"])
def test_no_option_of_a_file_is_a_number_of_thousands_of_digits(value: Any) -> None:
    for option in TABLE_OF_OPTIONS:
        with pytest.raises(UsageError):
            option.kind.take(value, option.word, file="cdc-tail.toml")
