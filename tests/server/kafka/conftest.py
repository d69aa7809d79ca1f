"""One real broker for all tests of this folder, or a reason, said aloud, why there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.kafka_broker import Broker, available

USER, PASSWORD = "writer", "the-right-password"

_reasons: set[str] = set()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Running, and for those that kill it: they start it again. It has a listener for a user too."""
    reason = available()
    if reason is not None:
        _reasons.add(reason)
        pytest.skip(f"no Kafka broker: {reason}")
    # Transactions that take too long are ended soon.
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 200}
    made = Broker(tmp_path_factory.mktemp("kafka"), settings, users={USER: PASSWORD})
    made.start()
    try:
        yield made
    finally:
        made.kill()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason in sorted(_reasons):
        terminalreporter.write_line(f"The tests against a running Kafka broker were SKIPPED: {reason}", yellow=True)
