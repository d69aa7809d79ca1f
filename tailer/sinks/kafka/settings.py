"""What the clients of Kafka are given: addresses, TLS, SASL, from a properties file and the environment. Connects to
nothing, and repeats no value in an error.

    CDC_TAIL_KAFKA_SASL_PASSWORD=…      # sasl.password: stronger than the file
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tailer.errors import UsageError
from tailer.limits import whole_number
from tailer.system_errors import system_error

PREFIX: Final = "CDC_TAIL_KAFKA_"
ADDRESSES: Final = "bootstrap.servers"
PROTOCOL: Final = "security.protocol"
TRANSACTION_MS: Final = "transaction.timeout.ms"
BATCH_SIZE: Final = "batch.size"

Settings = dict[str, str]
"""Properties by name, as librdkafka has them."""

_WHOLE: Final = (TRANSACTION_MS, BATCH_SIZE)
"""What is computed with here. librdkafka takes `0x10` and `1e5` too."""

_OPTIONS: Final = frozenset({"CONFIG"})
"""Variables with the prefix that fill an option."""

_OURS: Final = {
    "transactional.id": "it is made of the log folder, the node and the consumer",
    "enable.idempotence": "it is always on",
    "acks": "all replicas in sync acknowledge, always",
    "isolation.level": "positions are read as they were committed",
    "group.id": "no consumer group is used",
    "delivery.report.only.error": "reports are taken here",
    "allow.auto.create.topics": "topics are made with --create-topics only",
    "message.max.bytes": "the topic's max.message.bytes counts",
}
_PEM: Final = "Give ssl.ca.location instead, a file of PEM certificates."
_JAVA_ONLY: Final = {
    "sasl.jaas.config": "Give sasl.username and sasl.password instead.",
    "ssl.truststore.location": _PEM,
    "ssl.truststore.password": _PEM,
    "ssl.truststore.type": _PEM,
    "ssl.keystore.type": "Leave it out: ssl.keystore.location is PKCS12 here; PEM is ssl.certificate.location.",
    "key.serializer": "Leave it out.",
    "value.serializer": "Leave it out.",
    "max.request.size": "Leave it out: the topic's max.message.bytes counts.",
    "buffer.memory": "Leave it out: --commit-bytes bounds what waits.",
}
_EVERY_CLIENT: Final = (
    "bootstrap.", "security.", "sasl.", "ssl.", "socket.", "broker.", "client.", "metadata.", "topic.metadata.",
    "reconnect.", "api.", "enable.ssl.", "enable.sasl.", "https.", "retry.", "log", "resolve.", "debug",
)  # fmt: skip
"""Beginnings of the names that are not a producer's alone."""


def settings_of(brokers: str | None, file: Path | None, environ: Mapping[str, str]) -> Settings:
    """All that was said of the connection. UsageError for what cannot be given, and where no broker is named."""
    found = {} if file is None else _read(file)
    for name, value in environ.items():
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in _OPTIONS and value:
            found[_checked(name.removeprefix(PREFIX).lower().replace("_", "."), name)] = value
    if brokers is not None:
        found[ADDRESSES] = brokers
    if ADDRESSES not in found:
        raise UsageError(
            "no broker to write to", remedy=f"Give --brokers HOST:PORT, or {ADDRESSES} in the file of --kafka-config."
        )
    if any(name.startswith("sasl.") for name in found) and PROTOCOL not in found:
        raise UsageError(
            f"sasl.* without {PROTOCOL}", remedy=f"Say how the brokers are spoken to: {PROTOCOL}=SASL_SSL."
        )
    for name in _WHOLE:
        if name in found and whole_number(found[name]) is None:
            raise UsageError(f"{name} of Kafka's properties", expected="a whole number in decimal digits")
    return found


def of_any_client(settings: Settings) -> Settings:
    """What counts for a client that does not produce."""
    return {name: value for name, value in settings.items() if name.startswith(_EVERY_CLIENT)}


def _read(file: Path) -> Settings:
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise UsageError("no such file of Kafka's properties", file=str(file)) from None
    except IsADirectoryError as error:
        raise UsageError(f"the file of Kafka's properties: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise UsageError("the file of Kafka's properties is no UTF-8 text", file=str(file)) from None
    except OSError as error:
        raise system_error("cannot read the file of Kafka's properties", error, file) from None
    found: Settings = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text[0] in "#!":
            continue
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(
                f"line {number} of Kafka's properties", file=str(file), expected="NAME=VALUE", found="no ="
            )
        found[_checked(name.strip(), f"line {number}", str(file))] = value.strip()
    return found


def _checked(name: str, where: str, file: str | None = None) -> str:
    """The name, if it may be given. Whether librdkafka knows it, it says itself."""
    if name in _OURS:
        raise UsageError(f"{name} ({where}) cannot be given", file=file, remedy=f"Leave it out: {_OURS[name]}.")
    if name in _JAVA_ONLY:
        raise UsageError(f"{name} ({where}) is of Kafka's Java clients", file=file, remedy=_JAVA_ONLY[name])
    return name
