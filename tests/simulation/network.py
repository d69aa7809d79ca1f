"""A network between simulated processes: sockets, `selectors`, and an event loop that each thread has for itself.

Bytes come in order, in pieces of any size. A connection breaks when a process ends or the network is cut. A network
that stalls keeps everything back for a while.
"""

from __future__ import annotations

import asyncio
import errno
import io
import logging
import os
import select
import selectors
import signal
import socket
from collections import deque
from typing import Any, Final

from tests.simulation.disk import failed
from tests.simulation.world import FIRST_DESCRIPTOR, Network, Process, World, running, this_process, this_world

_ROOM: Final = 1 << 16
"""So many bytes are under way in one direction at most."""


class _Side:
    """What one side of a connection is given. `ended`: nothing more comes. `broken`: an error comes next."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.bytes = bytearray()
        self.ended = self.broken = self.gone = False
        self.other: _Side = self

    @property
    def readable(self) -> bool:
        return bool(self.broken or ((self.bytes or self.ended) and not self._world.network.stalls()))

    @property
    def writable(self) -> bool:
        return self.broken or self.other.gone or len(self.other.bytes) < _ROOM

    def events(self) -> int:
        return (select.POLLIN if self.readable else 0) | (select.POLLOUT if self.writable else 0)

    def let_go(self) -> None:
        """As at the end of a process: who has sent what nobody read sees an error."""
        if not self.gone:
            self.gone = True
            if self.bytes:
                self.other.broken = True
            self.other.ended = True


class _Listening:
    """A socket that is bound. `waiting`: sides of connections that nobody has accepted."""

    def __init__(self, network: Network, address: tuple[str, int]) -> None:
        self.network, self.address = network, address
        self.waiting: deque[_Side] = deque()
        self.listens = False

    def events(self) -> int:
        return select.POLLIN if self.waiting else 0

    def let_go(self) -> None:
        self.network.listening.pop(self.address[1], None)
        for side in self.waiting:
            side.other.broken = True


class _Unconnected:
    def events(self) -> int:
        return select.POLLOUT | select.POLLHUP

    def let_go(self) -> None:
        """It is nothing yet."""


class Socket:
    """As `socket.socket`, of TCP alone."""

    def __init__(self, family: int = -1, type: int = -1, proto: int = -1, *, held: Any = None) -> None:
        self.family = socket.AF_INET if family == -1 else family
        self.type = socket.SOCK_STREAM if type == -1 else type
        self.proto = socket.IPPROTO_TCP if proto <= 0 else proto
        self._process = this_process()
        self._timeout: float | None = None
        self._io_refs = 0
        self._closed = False
        self._held: Any = held or _Unconnected()
        self._number = self._process.descriptor(self._held)
        self._names = ("127.0.0.1", 0), ("127.0.0.1", 0)

    def __enter__(self) -> Socket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return -1 if self._closed else self._number

    def settimeout(self, seconds: float | None) -> None:
        self._timeout = seconds

    def gettimeout(self) -> float | None:
        return self._timeout

    def setblocking(self, blocking: bool) -> None:
        self._timeout = None if blocking else 0.0

    def setsockopt(self, *_: Any) -> None:
        """Nothing depends on it."""

    def getsockopt(self, *_: Any) -> int:
        return 0

    def getsockname(self) -> tuple[str, int]:
        return self._held.address if isinstance(self._held, _Listening) else self._names[0]

    def getpeername(self) -> tuple[str, int]:
        return self._names[1]

    # To connect

    def bind(self, address: tuple[str, int]) -> None:
        this_world().step("bind")
        network, port = this_world().network, address[1]
        if port in network.listening:
            raise failed(errno.EADDRINUSE)
        self._become(_Listening(network, (address[0], port)))
        network.listening[port] = self._held

    def listen(self, backlog: int = 0) -> None:
        self._held.listens = True

    def accept(self) -> tuple[Socket, tuple[str, int]]:
        this_world().step("accept")
        self._wait(lambda: bool(self._held.waiting))
        made = Socket(held=self._held.waiting.popleft())
        return made, made.getpeername()

    def connect(self, address: tuple[str, int]) -> None:
        this_world().step("connect")
        network = this_world().network
        if network.is_cut():
            self._wait(lambda: not network.is_cut())
        listening = network.listening.get(address[1])
        if listening is None or not listening.listens:
            raise failed(errno.ECONNREFUSED)
        mine, theirs = pair(this_world())
        listening.waiting.append(theirs)
        self._become(mine)

    def _become(self, held: Any) -> None:
        self._held = self._process.descriptors[self._number] = held
        if isinstance(held, _Side):
            this_world().network.connections.append(held)

    # To send and to receive

    def recv(self, count: int, flags: int = 0) -> bytes:
        this_world().step("recv")
        side = self._side()
        self._wait(lambda: side.readable)
        if side.broken:
            raise failed(errno.ECONNRESET)
        count = min(count, len(side.bytes))
        if count > 1 and this_world().random.random() < 0.1:
            count = this_world().random.randint(1, count)
        found = bytes(side.bytes[:count])
        del side.bytes[:count]
        return found

    def recv_into(self, buffer: Any, count: int = 0, flags: int = 0) -> int:
        view = memoryview(buffer).cast("B")
        found = self.recv(count or len(view))
        view[: len(found)] = found
        return len(found)

    def send(self, data: Any, flags: int = 0) -> int:
        this_world().step("send")
        side = self._side()
        self._wait(lambda: side.writable)
        if side.broken or side.other.gone:
            raise failed(errno.ECONNRESET if side.broken else errno.EPIPE)
        if side.other.ended:
            raise failed(errno.EPIPE)
        view = memoryview(data).cast("B")
        count = min(len(view), _ROOM - len(side.other.bytes))
        if count > 1 and this_world().random.random() < 0.05:
            count = this_world().random.randint(1, count)
        side.other.bytes += view[:count]
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        view = memoryview(data).cast("B")
        while view:
            view = view[self.send(view) :]

    def shutdown(self, how: int) -> None:
        side = self._side()
        if how in (socket.SHUT_WR, socket.SHUT_RDWR):
            side.other.ended = True
        if how in (socket.SHUT_RD, socket.SHUT_RDWR):
            side.ended = True

    def close(self) -> None:
        if not self._closed and self._io_refs <= 0:
            self._closed = True
            if self._process.descriptors.pop(self._number, None) is not None:
                self._held.let_go()
        elif not self._closed:
            # Who reads from it closes it.
            self._closing = True

    _closing = False

    def _decref_socketios(self) -> None:
        self._io_refs -= 1
        if self._closing:
            self.close()

    def makefile(self, mode: str = "r", buffering: int | None = None) -> Any:
        assert mode == "rb", mode
        self._io_refs += 1
        return io.BufferedReader(socket.SocketIO(self, "r"))  # type: ignore[arg-type]

    def detach(self) -> int:
        raise NotImplementedError("no part of the product that is simulated detaches a socket")

    def _side(self) -> _Side:
        if not isinstance(self._held, _Side):
            raise failed(errno.ENOTCONN)
        return self._held

    def _wait(self, ready: Any) -> None:
        if ready():
            return
        if self._timeout == 0.0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if not this_world().wait(ready, self._timeout):
            raise TimeoutError("timed out")


def pair(world: World) -> tuple[_Side, _Side]:
    """Two sides of a connection."""
    one, other = _Side(world), _Side(world)
    one.other, other.other = other, one
    return one, other


def sendfile(out: int, file: int, offset: int, count: int) -> int:
    """As `os.sendfile`, to a connection."""
    side = this_process().descriptors.get(out)
    assert isinstance(side, _Side), "a connection"
    if side.broken or side.other.gone:
        raise failed(errno.EPIPE)
    room = _ROOM - len(side.other.bytes)
    if room <= 0:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    data = os.pread(file, min(count, room), offset)
    side.other.bytes += data
    return len(data)


class Selector(selectors._BaseSelectorImpl):  # type: ignore[misc,name-defined]
    """As `selectors.DefaultSelector`."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        world = this_world()
        world.step("select")
        if not self._found() and (timeout is None or timeout > 0):
            process = this_process()
            world.wait(lambda: bool(self._found(process)), timeout)
        return self._found()

    def _found(self, process: Process | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = []
        descriptors = (process or this_process()).descriptors
        for key in self._fd_to_key.values():
            held = descriptors.get(key.fd)
            events = 0 if held is None else held.events()
            ready = (selectors.EVENT_READ if events & select.POLLIN else 0) | (
                selectors.EVENT_WRITE if events & select.POLLOUT else 0
            )
            if ready & key.events:
                found.append((key, ready & key.events))
        return found


def install() -> None:
    """Once for a process."""
    real_socket, real_pair, real_selector = socket.socket, socket.socketpair, selectors.DefaultSelector
    real_sendfile = os.sendfile

    class Either(real_socket):  # type: ignore[misc,valid-type]
        def __new__(cls, *args: Any, **more: Any) -> Any:
            return super().__new__(cls, *args, **more) if running() is None else Socket(*args, **more)

    def both(*args: Any, **more: Any) -> Any:
        if running() is None:
            return real_pair(*args, **more)
        return tuple(Socket(held=side) for side in pair(this_world()))

    socket.socket = Either  # type: ignore[misc]
    socket.socketpair = both
    selectors.DefaultSelector = lambda: real_selector() if running() is None else Selector()  # type: ignore[misc,assignment]
    os.sendfile = lambda out, file, offset, count: (  # type: ignore[assignment]
        sendfile if out >= FIRST_DESCRIPTOR else real_sendfile
    )(out, file, offset, count)
    for name, answer in (("set_wakeup_fd", -1), ("signal", signal.SIG_DFL), ("siginterrupt", None)):
        _leave(name, answer)
    # What ends with a process that is killed is no error.
    for each in ("asyncio", "concurrent.futures"):
        logging.getLogger(each).disabled = True
    assert asyncio.get_event_loop_policy() is not None, "loops are made by it, with the selector that is exchanged"


def _leave(name: str, answer: Any) -> None:
    """Signals are of the real process: none comes in a simulation."""
    real = getattr(signal, name)
    setattr(signal, name, lambda *args, **more: real(*args, **more) if running() is None else answer)
