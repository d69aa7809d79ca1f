"""Simulated machines, processes and threads. One thread runs at a time, and the seed chooses which.

A thread is a greenlet. At each system call it returns control to the scheduler, which chooses the next thread. Each
step advances the clock. If all threads wait, the clock moves to the earliest timeout. The same seed gives the same
history.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import greenlet

from tests.simulation.disk import Disk, Opened

STEP_NS: Final = 20_000
"""About so long a step takes."""

BEGAN_NS: Final = 1_790_000_000 * 10**9


class KilledError(BaseException):
    """Ends the threads of a process that was killed. No code of the product catches it, and what it does on its way out
    reaches no system any more."""


class StuckError(Exception):
    """All threads wait, and for no time."""


@dataclass(eq=False)
class Thread:
    """`until`: when it waits no more (ns); `ready`: asked before that, None where time alone counts."""

    process: Process
    name: str
    number: int
    light: greenlet.greenlet
    waits: bool = False
    until: int | None = None
    ready: Callable[[], bool] | None = None
    done: bool = False
    error: BaseException | None = None
    loop: asyncio.AbstractEventLoop | None = None


@dataclass(eq=False)
class Machine:
    """`skew_ns`: of its wall clock. `boot`: its run's random id, another one after a power loss. `notifies`: whether it
    has inotify to give."""

    world: World
    name: str
    disk: Disk
    skew_ns: int = 0
    boot: str = ""
    notifies: bool = True
    processes: list[Process] = field(default_factory=list)

    def wall_ns(self) -> int:
        return BEGAN_NS + self.world.now + self.skew_ns

    def power_loss(self) -> None:
        """All its processes end, and the disk keeps what was durable, or more."""
        for process in list(self.processes):
            process.kill()
        self.disk.power_loss()
        self.boot = f"{self.world.random.getrandbits(128):032x}"


@dataclass(eq=False)
class Process:
    """`descriptors`: what each number means. `before`: asked before each call that reaches the system, by its name: it
    may raise an OSError in place of the call, or kill the process. `skew_ns`: of what it takes for the time of day."""

    machine: Machine
    name: str
    pid: int
    descriptors: dict[int, Any] = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    alive: bool = True
    code: int | None = None
    before: Callable[[str], None] | None = None
    skew_ns: int = 0
    streams: dict[str, Any] = field(default_factory=dict)
    """What its `sys.stdout` and `sys.stderr` are, if it has any of its own."""
    memory: dict[Any, Any] = field(default_factory=dict)
    """What it has in variables of modules."""

    def kill(self) -> None:
        """As SIGKILL: no thread runs on, and every descriptor is closed."""
        if not self.alive:
            return
        self.alive = False
        self.machine.processes.remove(self)
        for held in self.descriptors.values():
            held.let_go()
        self.machine.world.lost.update(self.descriptors)
        self.descriptors.clear()
        self.machine.world.bury(self)

    def descriptor(self, held: Any) -> int:
        """A number for what was opened: above all numbers of descriptors that are real, and never given again. What
        closes a descriptor of a dead process late means no other one."""
        world = self.machine.world
        world.descriptors += 1
        number = FIRST_DESCRIPTOR + world.descriptors
        self.descriptors[number] = held
        return number


FIRST_DESCRIPTOR: Final = 1 << 20


class OpenedFile:
    """A descriptor of a file or a folder."""

    def __init__(self, disk: Disk, opened: Opened) -> None:
        self.disk, self.opened = disk, opened

    def let_go(self) -> None:
        self.disk.close(self.opened)

    def events(self) -> int:
        """A file can always be read and written."""
        return select.POLLIN | select.POLLOUT

    def again(self) -> OpenedFile:
        """For another number that means the same."""
        self.opened.references += 1
        return OpenedFile(self.disk, self.opened)


class Network:
    """What all machines of a world reach each other by: who listens, by port; connections; how long it is cut, or
    stalls (ns)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.listening: dict[int, Any] = {}
        self.connections: list[Any] = []
        self._cut_until = self._stalls_until = 0

    def cut(self, seconds: float) -> None:
        """All connections break, and there are no new ones for a while."""
        self._cut_until = self._world.now + int(seconds * 1e9)
        for side in self.connections:
            side.broken = side.other.broken = True
        self.connections.clear()

    def stall(self, seconds: float) -> None:
        """Nothing that is sent comes for a while."""
        self._stalls_until = self._world.now + int(seconds * 1e9)

    def heal(self) -> None:
        self._cut_until = self._stalls_until = 0

    def is_cut(self) -> bool:
        return self._world.now < self._cut_until

    def stalls(self) -> bool:
        return self._world.now < self._stalls_until

    def next_change(self) -> list[int]:
        """When it changes by itself."""
        return [at for at in (self._cut_until, self._stalls_until) if at > self._world.now]


class World:
    """Of one seed. `steps`: how many times it was chosen who goes on; `descriptors`: how many there ever were."""

    def __init__(self, seed: int, order: int = 0) -> None:
        """`order`: another one chooses other interleavings."""
        self.seed = seed
        self.random = Random(f"{seed} {order}")
        self.now = 0
        self.steps = 0
        self.descriptors = 0
        self.lost: set[int] = set()
        """Descriptors of processes that ended: nothing is closed by them any more."""
        self.machines: dict[str, Machine] = {}
        self.network = Network(self)
        self.files: Any = None
        """Of SQLite (`sqlite_model.Files`)."""
        self.log: Any = None
        """A digest of all system calls with their processes and threads, or None."""
        self._threads: list[Thread] = []
        self._hub = greenlet.getcurrent()
        self._numbers = 0
        self._dead: list[Process] = []

    def machine(self, name: str) -> Machine:
        """The machine of a name, which is made if there is none."""
        if name not in self.machines:
            made = Machine(self, name, Disk(Random(self.random.getrandbits(64)), lambda: made.wall_ns()))
            made.boot = f"{self.random.getrandbits(128):032x}"
            self.machines[name] = made
        return self.machines[name]

    def process(self, machine: Machine, name: str, main: Callable[[], int | None]) -> Process:
        """A process that runs `main`; it ends with it, with the number that it returns (None: 0)."""
        self._numbers += 1
        made = Process(machine, name, 1000 + self._numbers)
        machine.processes.append(made)

        def run() -> None:
            made.code = main() or 0
            made.kill()

        self.spawn(made, run, "main")
        return made

    def spawn(self, process: Process, run: Callable[[], Any], name: str) -> Thread:
        """A thread of a process: it begins when it is chosen."""

        def body() -> None:
            try:
                run()
            except KilledError:
                pass
            except BaseException as error:
                thread.error = error
            thread.done = True

        self._numbers += 1
        light = greenlet.greenlet(body, parent=self._hub)
        thread = Thread(process, name, self._numbers, light)
        light.thread = thread
        process.threads.append(thread)
        self._threads.append(thread)
        return thread

    def bury(self, process: Process) -> None:
        """End the threads of a process that was killed. One that kills its own goes on to the next call alone."""
        self._dead.append(process)
        if greenlet.getcurrent() is self._hub:
            self._end_threads()

    def _end_threads(self) -> None:
        while self._dead:
            for thread in self._dead.pop().threads:
                if not thread.done and thread.light:
                    asyncio._set_running_loop(thread.loop)
                    thread.light.throw(KilledError)
                    asyncio._set_running_loop(None)
                thread.done = True
        self._threads = [thread for thread in self._threads if not thread.done]

    def step(self, call: str) -> None:
        """The thread that runs is about to reach its system: others may go on first, or its process ends here."""
        thread = running()
        assert thread is not None, "a thread of the simulation runs"
        process = thread.process
        if not process.alive:
            raise KilledError
        self._hub.switch()
        if not process.alive:
            raise KilledError
        if self.log is not None:
            self.log.update(f"{self.now} {process.pid} {thread.number} {call}\n".encode())
        if process.before is not None:
            process.before(call)
            if not process.alive:
                raise KilledError

    def wait(self, ready: Callable[[], bool] | None, seconds: float | None) -> bool:
        """Whether it is ready before so many seconds are over; None: however long it takes."""
        thread = running()
        assert thread is not None, "a thread of the simulation runs"
        if not thread.process.alive:
            raise KilledError
        thread.ready, thread.waits = ready, True
        thread.until = None if seconds is None else self.now + max(0, int(seconds * 1e9))
        self._hub.switch()
        thread.waits = False
        if not thread.process.alive:
            raise KilledError
        return ready is None or ready()

    def run(self, until: Callable[[], bool], *, steps: int = 1 << 62) -> None:
        """Choose who goes on, until that holds. StuckError where nobody can."""
        last = self.steps + steps
        while not until() and self.steps < last:
            able = [thread for thread in self._threads if self._is_able(thread)]
            if not able:
                self._pass_time()
                continue
            chosen = able[self.random.randrange(len(able))] if len(able) > 1 else able[0]
            self.steps += 1
            self.now += self.random.randint(1, 2 * STEP_NS)
            self._switch_to(chosen)
            self._end_threads()
            if chosen.done:
                self._threads = [thread for thread in self._threads if not thread.done]
                self._raise(chosen)

    @staticmethod
    def _switch_to(thread: Thread) -> None:
        """Which event loop runs, asyncio keeps for each real thread."""
        if thread.loop is not None:
            asyncio._set_running_loop(thread.loop)
        thread.light.switch()
        thread.loop = asyncio._get_running_loop()
        if thread.loop is not None:
            asyncio._set_running_loop(None)

    def _raise(self, thread: Thread) -> None:
        """What a main thread raised is the history's end: the product has an exit code for everything."""
        if thread.error is not None and thread.name == "main":
            raise thread.error

    def _is_able(self, thread: Thread) -> bool:
        if thread.done:
            return False
        if not thread.waits:
            return True
        if thread.ready is not None and thread.ready():
            return True
        return thread.until is not None and thread.until <= self.now

    def _pass_time(self) -> None:
        times = [thread.until for thread in self._threads if not thread.done and thread.until is not None]
        times += self.network.next_change()
        if not times:
            waiting = ", ".join(f"{each.process.name}/{each.name}" for each in self._threads if not each.done)
            raise StuckError(f"nobody goes on any more: {waiting or 'nobody is there'}")
        self.now = max(self.now, min(times))


def running() -> Thread | None:
    """The thread of a simulation that runs; None outside of one."""
    return getattr(greenlet.getcurrent(), "thread", None)


def this_process() -> Process:
    """Whose thread runs."""
    thread = running()
    assert thread is not None, "a thread of a simulation asks"
    return thread.process


def this_world() -> World:
    """In which it runs."""
    return this_process().machine.world
