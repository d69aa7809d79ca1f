"""Runs a history: the operations of a seed on logs, their readers and `clean`."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.simulation.aside import LATER
from tests.simulation.cast import ADDRESS, HOME, TOKEN_FILE, Cast, Run
from tests.simulation.consumers import ViolationError
from tests.simulation.disk import File, failed
from tests.simulation.hostile import attack
from tests.simulation.imaged import SETTLED_SECONDS, ImageReader
from tests.simulation.kept import KeptTables
from tests.simulation.nodes import Node, Work
from tests.simulation.operations import Operation
from tests.simulation.operators import LOOKS, Place, Visitor, cleaned, command
from tests.simulation.service import PLAIN
from tests.simulation.targets import RowTable

SKEWS: Final = (1, 3_600, 86_400)
"""Seconds by which a server's clock jumps."""
WRONG: Final = (-86_400, -3_600, -1, 0, 1, 3_600, 86_400)
"""Seconds by which a server's clock is wrong, where it goes back, too."""

QUIET_SECONDS: Final = 30.0
"""So long after the last fault everything must have been delivered."""

DROPS_MAX: Final = 100
"""So often an operator gives a command again."""

ASIDE_SECONDS: Final = 400.0
"""A table that could not be read again from its server is asked for after so long at the latest."""

_WRITES: Final = ("open", "write", "truncate", "mkdir", "rename", "link", "symlink")
FAILS: Final = {
    errno.ENOSPC: _WRITES,
    errno.EDQUOT: _WRITES,
    errno.EIO: ("open", "read", "write", "fsync", "listdir", "stat", "rename", "unlink"),
    errno.EMFILE: ("open", "inotify"),
    errno.EACCES: ("open", "listdir", "mkdir", "rename", "unlink"),
}
"""Which calls an error comes from."""


class History(Cast):
    """One run of a history. Raises ViolationError if an invariant does not hold."""

    def run(self) -> None:
        self._late = frozenset(self._begins)
        self._revive()
        for number, operation in enumerate(self.operations):
            self._begins = {name: at for name, at in self._begins.items() if at * len(self.operations) > number}
            self._wait(operation.pause)
            self._do(operation)
        self._begins.clear()
        self._revive()
        self._settle()

    # What operations do

    def _do(self, operation: Operation) -> None:
        match operation.what:
            case "kill at call":
                self._kill_later(operation)
            case "disk fails":
                self._fail_later(operation)
            case "kill reader":
                self._kill(self._named(operation))
            case "clean":
                # An operator registers consumers first.
                if all(map(self._is_registered, self.readers.keys() - self._begins.keys())):
                    self._backup_is_fresh = False
                    self._start("cleaner")
            case "drop visitor":
                self._drop_visitor()
            case "move":
                self._move(operation.value)
            case "look":
                self._start("operator", self._looks(operation.value))
            case "unpack":
                if self._unpacking is not None:
                    self._start("operator", self._unpacking.run)
            case "read":
                random = Random(operation.value) if operation.number else None
                had = self.readers["always"].taken
                self._start("batch", lambda: self._batch.run(random, had))
            case "odd":
                if self._replays is not None:
                    self._cluster.write_odd(operation.value, LATER)
                    self._until(self._has_worked, 5.0)
            case "replay":
                if self._replays is not None and self.readers["always"].taken:
                    self._start("operator", self._replays.run)
            case "crash":
                self._kill(self._named(operation))
            case "down":
                self._turn(operation)
            case "attack":
                if self.serving is not None:
                    host, port = ADDRESS.split(":")
                    random = Random(f"{self.world.seed} attack {operation.value}")
                    self._start("hostile", lambda: attack(host, int(port), random))
            case "clock":
                node = self._nodes[operation.value % len(self._nodes)]
                if node.back and self.readers["always"].has_all():
                    node.skew_ns = Random(operation.value).choice(WRONG) * 10**9
                elif not node.back:
                    node.skew_ns += Random(operation.value).choice(SKEWS) * 10**9
            case "rot":
                self._mend()
                self._rot(self._nodes[operation.value % len(self._nodes)], Random(operation.value))
            case "restore":
                self._restore(put_back=bool(operation.number))
            case "empty":
                self._empty(self._nodes[0])
            case "network":
                change = self.world.network.cut if operation.number else self.world.network.stall
                change(Random(operation.value).choice((0.0, 0.1, 3.0, 40.0)))
            case "wait":
                pass
            case "power loss":
                self.kills += 1
                self._machine.power_loss()
                self._revive()
            case _:
                self._tell_server(operation)

    def _is_registered(self, name: str) -> bool:
        """Whether a consumer is known to the first log's state, and has something."""
        state = f"{self._folders[0]}.cdc_tail/consumers"
        return bool(self.readers[name].taken) and self.disk.exists(f"{state}/{name}.json")

    def _drop_visitor(self) -> None:
        """Nobody starts it again until it is dropped."""
        if self._rests("visitor"):
            code = self._given("visitor", ["consumers", str(self._folders[0]), "drop", "visitor"], (0,))
            assert code == 0, code
            self.visitor.dropped()
            self._goes_on("visitor")

    def _move(self, value: int) -> None:
        """A consumer is put somewhere else by hand: one anywhere, one that feeds a target back."""
        random = Random(f"{self.world.seed} move {value}")
        name = random.choice(("visitor", "table"))
        reader = self.readers.get(name)
        if not isinstance(reader, (Visitor, RowTable)) or reader.behind(random) is None or not self._rests(name):
            return
        place = Place(self.disk, self._folders[0], reader.expected)
        text = random.choice(("earliest", "latest", "row", "row")) if name == "visitor" else "row"
        if text == "row":
            number = reader.behind(random)
            assert number is not None
            first, text = reader.expected.entry_of(number)
        before = place.rows()
        if name == "table":
            # Known fault: a consumer whose target is restored to before a seek skips the rows that the target lacks.
            self._backup_is_fresh = False
        code = self._given(
            name, ["consumers", str(self._folders[0]), "seek", name, text], (0, 2, 3, *([4] if self._rotten else []), 5)
        )
        if code == 0 and isinstance(reader, Visitor):
            match text:
                case "earliest":
                    # From the archive on, where there is one.
                    reader.moved(0 if self._archive else before[0], place.rows()[0])
                case "latest":
                    reader.moved(before[1], reader.expected.count())
                case _:
                    reader.moved(first, first)
        self._goes_on(name)

    def _rests(self, name: str) -> bool:
        """Whether a consumer that is registered ends now, and nobody starts it again."""
        if name in self._begins or name not in self.readers or not self.readers[name].taken:
            return False
        self._begins[name] = 2.0
        self._kill(name)
        return True

    def _goes_on(self, name: str) -> None:
        del self._begins[name]
        self._revive()

    def _given(self, name: str, words: Sequence[str], codes: Sequence[int]) -> int:
        """What a command of an operator ended with, who gives it again until it ends with one of these codes."""
        ended: list[int] = []

        def give() -> int:
            ended.append(command(words))
            return ended[-1]

        for _ in range(DROPS_MAX):
            self._start("operator", give)
            self._until(lambda: not self._is_alive("operator"), 60.0)
            if ended and ended[-1] in codes:
                return ended[-1]
        raise ViolationError(f"`cdc-tail {' '.join(words)}` does not work: exit {ended}")

    def _looks(self, value: int) -> Run:
        places = {
            "log": str(self._folders[0]),
            "archive": str(self._archive or HOME / "archive"),
            "images": str(HOME / "images"),
            "address": str(self._folders[0]) if self.serving is None else f"http://{ADDRESS}",
            "token": str(TOKEN_FILE),
        }
        words = [word.format(**places) for word in LOOKS[value % len(LOOKS)]]
        return lambda: command(words)

    def _tell_server(self, operation: Operation) -> None:
        if not self._nodes:
            self._items.append(operation)
        elif operation.what == "write":
            self._cluster.write(operation.value)
        elif operation.what == "alter":
            self._cluster.alter(operation.value)
        elif operation.what == "truncate":
            self._cluster.truncate(operation.value)
        else:
            self._nodes[operation.value % len(self._nodes)].todo.append(Work(operation.what))
        self._until(self._has_worked, 5.0)

    def _turn(self, operation: Operation) -> None:
        """A server ends, and nobody starts it again until it is its turn once more. One always runs."""
        node = self._nodes[operation.value % len(self._nodes)] if self._nodes else None
        if node is None or (not node.down and sum(not each.down for each in self._nodes) == 1):
            return
        node.down = not node.down
        if node.down:
            self._kill(f"server {node.name}")

    def _rot(self, node: Node, random: Random) -> None:
        """A bit of a segment that is closed flips. Where there is an archive it could get there, and stay."""
        raw = str(node.folder)
        if self._archive is not None or not self.disk.exists(raw):
            return
        logs = [name for name in self.disk.names(self.disk.find(raw), raw) if name.endswith(".log")]
        closed = [name for name in sorted(logs) if not self.disk.exists(f"{node.home}/commitlog/{name}")]
        if not closed:
            return
        name = random.choice(closed)
        file = self.disk.find(f"{raw}/{name}")
        assert isinstance(file, File), name
        places = [place for place, _, _ in node.ledger.written[int(name.split("-")[-1].removesuffix(".log"))]]
        place = random.choice(places)
        at = random.randrange(place.at, place.end)
        self._rotten.append((file, at, file.content[at]))
        file.content[at] ^= 1 << random.randrange(8)

    def _mend(self) -> None:
        """Operators put back from a copy what has rotten, and start whoever ended for it."""
        for file, at, byte in self._rotten:
            if file.links:
                file.content[at] = byte
        if self._rotten:
            for reader in self.readers.values():
                reader.try_again()
        self._rotten.clear()

    def _restore(self, *, put_back: bool) -> None:
        """A backup of a target is taken, or put back while nobody writes: what it lacks comes again. One from before a
        run of `clean` may have a position that the journal does not know any more."""
        if self._table is None or self._archive is None:
            return
        if not put_back:
            self._table.keep()
            self._backup_is_fresh = True
        elif "table" in self._running and self._backup_is_fresh:
            self.kills += 1
            self._running["table"].kill()
            self._table.put_back()
            self._revive()

    def _empty(self, node: Node) -> None:
        """Somebody empties a node's commit-log folder while its server does not run: it counts its segments from its
        clock on. What `cdc_raw` has is durable still."""
        name = f"server {node.name}"
        # Who has not seen a node's segments has nothing but their ids to go by.
        if not node.back or not self._is_alive(name) or not self.readers["always"].has_all():
            return
        self.kills += 1
        self._running[name].kill()
        place = str(node.home / "commitlog")
        if self.disk.exists(place):
            for file in self.disk.names(self.disk.find(place), place):
                self.disk.unlink(f"{place}/{file}")
        self._revive()

    def _has_worked(self) -> bool:
        return not self._items and not any(node.todo for node in self._nodes if not node.down)

    def _named(self, operation: Operation) -> str:
        """Whom an operation means, of those that there are."""
        if operation.who in ("cleaner", "service", "operator"):
            return operation.who
        names = [*(self._servers if operation.who == "server" else self.readers)]
        return names[operation.value % len(names)]

    def _kill(self, name: str) -> None:
        process = self._running.get(name)
        if process is not None and process.alive:
            self.kills += 1
            process.kill()
        self._revive()

    def _kill_later(self, operation: Operation) -> None:
        process = self._running.get(self._named(operation))
        if process is None or not process.alive:
            return
        left = operation.number

        def before(call: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                self.kills += 1
                process.kill()

        process.before = before

    def _fail_later(self, operation: Operation) -> None:
        """Some calls of a process fail from one of them on, for a while."""
        process = self._running.get(self._named(operation))
        if process is None or not process.alive:
            return
        random = Random(f"{self.world.seed} fails {operation.value}")
        code = random.choice([*FAILS])
        left, lasts = operation.number * 10, random.choice((1, 1, 5, 50))

        def before(call: str) -> None:
            nonlocal left, lasts
            left -= 1
            if left < 0 and lasts and call in FAILS[code]:
                lasts -= 1
                self.failures += 1
                raise failed(code)

        process.before = before

    def _revive(self) -> None:
        """Whoever ended is started again; the readers by their supervisor, the servers by their operator. An error that
        tells what to do is heeded first."""
        for name in self._names():
            if self._is_alive(name):
                continue
            reader = self.readers.get(name)
            if reader is not None and reader.advice:
                words, reader.advice = reader.advice, []
                self._start(name, lambda words=words: command(words))
            else:
                self._start(name)

    def _wait(self, seconds: float) -> None:
        until = self.world.now + int(seconds * 1e9)
        self._until(lambda: self.world.now >= until, seconds + 1.0)

    def _until(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Whether it is ready within so many seconds; meanwhile whoever ends is started again."""
        until = self.world.now + int(seconds * 1e9)
        while not ready() and self.world.now < until:
            self._revive()
            self.world.run(
                lambda: ready() or self.world.now >= until or not all(self._is_alive(name) for name in self._names())
            )
        return ready()

    def _names(self) -> tuple[str, ...]:
        down = {f"server {node.name}" for node in self._nodes if node.down}
        readers = (name for name in self.readers if name not in self._begins)
        return (*(name for name in self._servers if name not in down), *readers)

    def _is_delivered(self) -> bool:
        return not any(reader.goes_on() for reader in self.readers.values())

    # Processes

    def _is_alive(self, name: str) -> bool:
        return name in self._running and self._running[name].alive

    def _start(self, name: str, run: Run | None = None) -> None:
        if self._is_alive(name):
            return
        if run is None:
            runs = {"cleaner": self._clean, **self._servers}
            run = runs[name] if name in runs else self.readers[name].run
        self._running[name] = self.world.process(self._machine, name, run)

    def _clean(self) -> int:
        return max(cleaned(folder, self._archive) for folder in self._folders)

    # The end

    def _settle(self) -> None:
        """No more faults: everything is delivered, to everybody."""
        self.world.network.heal()
        self._mend()
        if self._spool is not None:
            self._spool.web.is_well = True
            # It may be in the middle of a slow answer.
            self._kill("web")
        for process in self._running.values():
            process.before = None
        # Who begins only now has something to read.
        last = max((each.value for each in self.operations), default=0) + 1
        if self._nodes:
            self._cluster.write_to_all(last)
        else:
            self._items += [Operation("server", "write", 0.0, PLAIN, last), Operation("server", "sync", 0.0)]
        self._until(self._has_worked, 5.0)
        self._until(self._is_delivered, QUIET_SECONDS)
        if self._nodes and self._nodes[0].back:
            # A segment that appeared is read once its end is seen to grow.
            self._cluster.write_to_all(last + 1)
            self._until(self._has_worked, 5.0)
            self._until(self._is_delivered, QUIET_SECONDS)
        if self._nodes:
            # All TTLs end. Only row images show that, so consumers that have all change rows stop.
            for name, reader in self.readers.items():
                if not isinstance(reader, ImageReader | KeptTables) and not reader.goes_on():
                    self._begins[name] = 2.0
                    self._kill(name)
            self._wait(SETTLED_SECONDS)
            self._until(self._is_delivered, ASIDE_SECONDS)
        for reader in self.readers.values():
            reader.check_end()
        if self._promises is not None:
            self._promises.check_whole()
        self._until(lambda: not self._is_alive("batch"), QUIET_SECONDS)
        self._start("batch", self._batch.run)
        self._until(lambda: not self._is_alive("batch"), QUIET_SECONDS)
        self._batch.check_end()
        if self._replays is not None:
            self._start("operator", self._replays.run)
            self._until(lambda: not self._is_alive("operator"), QUIET_SECONDS)
            for name, reader in self.readers.items():
                if name not in self._late:
                    reader.check_told_of(self._replays.entries())
            if lacking := self._replays.lacks():
                raise ViolationError(f"quarantine replay never gave {sorted(lacking)}")
