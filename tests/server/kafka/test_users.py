"""Who may write: a wrong password, a user without rights, and one with exactly those that docs/kafka.md names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.cli import Result, run_cli
from tests.helpers.kafka_broker import Broker
from tests.helpers.kafka_topics import read
from tests.server.kafka.conftest import PASSWORD, USER
from tests.server.kafka.logs import log_of, positions, table, words

pytestmark = [pytest.mark.server, pytest.mark.slow]


def follow_as_user(broker: Broker, folder: Path, *more: str, password: str = PASSWORD, trusted: bool = True) -> Result:
    properties = folder.parent / "client.properties"
    lines = ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", f"sasl.username={USER}"]
    lines += [f"ssl.ca.location={broker.certificate}"] if trusted else []
    properties.write_text("\n".join(lines))
    by_user = [*words(broker, folder), "--brokers", broker.for_users, "--kafka-config", properties, *more]
    return run_cli(by_user, {"CDC_TAIL_KAFKA_SASL_PASSWORD": password})


def allow(broker: Broker, topic: str, own: str) -> None:
    """What the page says, and nothing besides."""
    from confluent_kafka.admin import (
        AclBinding,
        AclOperation,
        AclPermissionType,
        AdminClient,
        ResourcePatternType,
        ResourceType,
    )

    writes = (AclOperation.WRITE, AclOperation.DESCRIBE)
    makes = (*writes, AclOperation.DESCRIBE_CONFIGS, AclOperation.CREATE)
    exact, prefixed = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
    wanted = [
        (ResourceType.TOPIC, topic, exact, makes),
        (
            ResourceType.TOPIC,
            own,
            exact,
            (*makes, AclOperation.READ),
        ),
        (ResourceType.TRANSACTIONAL_ID, "cdc-tail/", prefixed, writes),
    ]
    bindings = [
        AclBinding(kind, name, pattern, f"User:{USER}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, pattern, operations in wanted
        for operation in operations
    ]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_acls(bindings).values():
        made.result(30)


def test_a_wrong_password_is_told_at_once_and_not_shown(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("sasl"), 3)
    told = follow_as_user(broker, folder, password="a-wrong-one")
    assert (told.code, "the brokers do not take the user or the password" in told.err) == (2, True)
    assert "a-wrong-one" not in told.err
    assert told.err.count("\n") == 1, told.err


def test_brokers_that_are_not_trusted_are_given_no_password(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("trust"), 3)
    told = follow_as_user(broker, folder, trusted=False)
    assert (told.code, "the brokers' certificate is not trusted" in told.err) == (2, True)
    assert "ssl.ca.location" in told.err


def test_a_user_needs_the_rights_that_the_page_names(broker: Broker, tmp_path: Path) -> None:
    folder = log_of(tmp_path / "cdc_raw", table("allowed"), 3)
    told = follow_as_user(broker, folder, "--create-topics")
    assert (told.code, "no permission" in told.err) == (2, True)
    allow(broker, "ks.allowed", positions(folder))
    for _ in range(2):
        told = follow_as_user(broker, folder, "--create-topics")
        assert told.code == 0, told.err
        assert told.err == ""
    assert [each.row["columns"]["v"] for each in read(broker, "ks.allowed")] == [0, 1, 2]
