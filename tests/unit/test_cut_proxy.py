"""The slow link of other tests (helpers/cut_proxy.py): bytes arrive whole, in order, and as slowly as is wanted."""

from __future__ import annotations

import socket
import threading
import time

from tests.helpers.cut_proxy import CutProxy

PAYLOAD = bytes(range(256)) * 80


def fetch(port: int) -> float:
    """Seconds until all of the payload was there."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port)) as client:
        received = b""
        while data := client.recv(65536):
            received += data
    assert received == PAYLOAD
    return time.monotonic() - began


def test_a_link_is_slow_for_as_long_as_it_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(PAYLOAD)

        server = threading.Thread(target=serve)
        server.start()
        proxy = CutProxy(int(listener.getsockname()[1]))
        proxy.rate = 2 * len(PAYLOAD)
        assert fetch(proxy.port) >= 0.5
        proxy.rate = None
        assert fetch(proxy.port) < 0.4
        server.join()
        proxy.close()
