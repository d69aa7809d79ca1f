"""What listens where a Kafka broker should, and is none: exit 8 and why, within seconds; nothing counts as
delivered."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("confluent_kafka")

from tests.helpers.cli import run_cli
from tests.helpers.faulty_link import LOCAL, end
from tests.unit.sinks.database.followed import log


class Said(NamedTuple):
    """`drips`: again and again behind what came at once. `found`: why the run ends, in the client's words."""

    at_once: bytes
    found: str
    drips: bytes = b""
    closes: bool = False


SIZE = "Invalid response size"
ANSWERS = {
    "silent": Said(b"", "no answer for 5 s"),
    "closes": Said(b"", "Disconnected", closes=True),
    "HTTP": Said(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", SIZE, closes=True),
    "zeros": Said(bytes(64), SIZE),
    "negative length": Said(b"\xff" * 64, SIZE),
    "2 GiB to come": Said(b"\x7f\xff\xff\xff\0\0\0\1", SIZE),
    "a body that drips": Said(b"\0\0\1\0\0\0\0\1", "no answer for 5 s", drips=b"\0"),
    "TLS": Said(b"\x15\x03\x03\0\2\2\x28", "no answer for 5 s"),
}


class NoBroker:
    """Takes every connection and answers each with the same bytes, whatever it is asked."""

    def __init__(self, said: Said) -> None:
        self.said = said
        self._listener = socket.create_server((LOCAL, 0))
        self.address = f"{LOCAL}:{self._listener.getsockname()[1]}"
        self.asked = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.asked += 1
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.recv(1 << 16)
            client.sendall(self.said.at_once)
            while not self.said.closes:
                time.sleep(0.1)
                client.sendall(self.said.drips)

    def close(self) -> None:
        end(self._listener)


@pytest.fixture
def no_broker(request: pytest.FixtureRequest) -> Iterator[NoBroker]:
    made = NoBroker(ANSWERS[request.param])
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("no_broker", ANSWERS, indirect=True)
def test_it_counts_as_away(no_broker: NoBroker, tmp_path: Path) -> None:
    folder = log(tmp_path)
    run = ["follow", folder, "--once", "--stopped", "--node", "n1", "--consumer", "c", "--retry-for", "0s"]
    began = time.monotonic()
    ran = run_cli([*run, "--to", "kafka", "--brokers", no_broker.address])
    assert ran.code == 8, ran.err
    assert time.monotonic() - began < 30
    assert no_broker.asked
    # A warning that it is away, and then why the run ends.
    _, last = ran.err.splitlines()
    assert no_broker.address in last
    assert no_broker.said.found in last
    # Nothing counts as delivered.
    status = run_cli(["consumers", folder])
    assert "c" not in status.out.split(), status.out
