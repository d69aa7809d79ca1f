"""A server for one client that drips its answer, byte by byte and for ever."""

from __future__ import annotations

import contextlib
import socket
import threading
import time

from tests.helpers.faulty_link import LOCAL, end


class Dripping:
    """Sends `at_once`, then `each` again and again, every so many seconds, until the client is gone."""

    def __init__(self, at_once: bytes, each: bytes, seconds: float) -> None:
        self._sent = at_once, each
        self._seconds = seconds
        self._listener = socket.create_server((LOCAL, 0))
        self.url = f"http://{LOCAL}:{self._listener.getsockname()[1]}"
        self.gone = threading.Event()
        self._thread = threading.Thread(target=self._answer)
        self._thread.start()

    def _answer(self) -> None:
        at_once, each = self._sent
        with contextlib.suppress(OSError):
            client, _ = self._listener.accept()
            with client:
                client.recv(1 << 16)
                client.sendall(at_once)
                while True:
                    time.sleep(self._seconds)
                    client.sendall(each)
        self.gone.set()

    def close(self) -> None:
        end(self._listener)
        self._thread.join()
