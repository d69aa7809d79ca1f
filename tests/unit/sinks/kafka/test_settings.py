"""What the clients are given: the file, the environment over it, the command line's brokers over both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailer.errors import UsageError
from tailer.sinks.kafka.settings import of_any_client, settings_of

FILE = """# as Kafka's own programs have it
bootstrap.servers = a:9092

! another comment
security.protocol=SASL_SSL
sasl.password = with=signs and spaces
linger.ms=3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "client.properties"
    made.write_text(FILE)
    return made


def test_the_file_the_environment_over_it_and_the_command_line_over_both(file: Path) -> None:
    environ = {"CDC_TAIL_KAFKA_SASL_USERNAME": "cdc", "CDC_TAIL_KAFKA_LINGER_MS": "9", "CDC_TAIL_KAFKA_CONFIG": "x"}
    assert settings_of("b:9092", file, environ) == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SASL_SSL",
        "sasl.password": "with=signs and spaces",
        "sasl.username": "cdc",
        "linger.ms": "9",
    }
    assert settings_of(None, file, {})["bootstrap.servers"] == "a:9092"
    assert settings_of("b:9092", None, {"CDC_TAIL_TABLE": "t"}) == {"bootstrap.servers": "b:9092"}


def test_a_reader_is_not_given_what_is_a_producers() -> None:
    given = {"bootstrap.servers": "a", "ssl.ca.location": "f", "linger.ms": "1", "batch.size": "2"}
    assert of_any_client(given) == {"bootstrap.servers": "a", "ssl.ca.location": "f"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("transactional.id=x", "transactional.id (line 1) cannot be given"),
        ("sasl.jaas.config=org… password=secret;", "Give sasl.username and sasl.password"),
        ("ssl.truststore.location=/x.jks", "ssl.ca.location"),
        ("no equals sign: secret", "line 1 of Kafka's properties"),
        ("sasl.username=cdc", "sasl.* without security.protocol"),
    ],
)
def test_what_cannot_be_given_is_told_without_its_value(line: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(line)
    with pytest.raises(UsageError) as raised:
        settings_of("a:9092", file, {})
    assert told in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_variable_that_cannot_be_given_is_named() -> None:
    with pytest.raises(UsageError, match="CDC_TAIL_KAFKA_ENABLE_IDEMPOTENCE"):
        settings_of("a:9092", None, {"CDC_TAIL_KAFKA_ENABLE_IDEMPOTENCE": "false"})


def test_somebody_must_name_a_broker(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--brokers"):
        settings_of(None, None, {})
    with pytest.raises(UsageError, match="no such file"):
        settings_of(None, tmp_path / "missing", {})
    with pytest.raises(UsageError, match="Is a directory"):
        settings_of(None, tmp_path, {})
