"""Requests about consumers: take a name, say where it stands, drop it. They are those of the state's own files.

Moves a consumer under its reader's lease alone. Waits for nobody: where `clean` has the state's lock the same is asked
again. Sends nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from tailer.errors import CdcError, QuarantineFullError, RefusedError
from tailer.retention.forget_dropped import DROPPED_BYTES
from tailer.retention.move_consumer import forget_held
from tailer.serve.asked import Claim, check_reader
from tailer.serve.clients import Client
from tailer.serve.leases import FORGOTTEN_SECONDS, Lease, Leases
from tailer.serve.node_journal import NodeJournal
from tailer.serve.problems import BusyError, ProblemError, conflict, not_allowed, of_error, refused
from tailer.serve.shares import Shares
from tailer.state.consumers import (
    VERSION,
    ConsumerFile,
    Mark,
    NodeState,
    consumer_names,
    consumer_path,
    is_running,
    read_consumer,
    take_consumer,
    write_consumer,
)
from tailer.state.lease_file import leased_names
from tailer.state.lock import state_lock
from tailer.state.offset import Memory, decode_node_offset
from tailer.state.quarantine import Kept, Quarantine
from tailer.state.remembered import segments_of
from tailer.wire import words
from tailer.wire.state import ConsumersAnswer, LeaseAnswer, Problem, PutConsumer

_ASIDES_MAX: Final = 20
_PLACES_MAX: Final = 100_000
"""Of a quarantine that is kept in memory between two requests."""


class Consumers:
    """Those of one state folder. One call about a name at a time (`Names` sees to that); any thread.

    `cleaned_tag`: of the list of cleaned segments as it is now. `defines_for_all`: whether the client of a name may do
    that.
    """

    def __init__(
        self,
        leases: Leases,
        journal: NodeJournal,
        cleaned_tag: Callable[[], str],
        defines_for_all: Callable[[str], bool] = lambda client: False,
    ) -> None:
        self._state = leases.state
        self._leases = leases
        self._journal = journal
        self._cleaned_tag = cleaned_tag
        self._shares = Shares(leases)
        self._defines_for_all = defines_for_all
        self._taking = threading.Lock()
        self._stands: dict[str, ConsumerFile] = {}
        self._asides: dict[tuple[str, str, str], Quarantine] = {}

    def all(self, client: Client) -> ConsumersAnswer:
        """`GET /consumers`."""
        leased = [name for name in list(self._leases.known) if self._leases.has(name)]
        names = sorted({*consumer_names(self._state), *leased})
        return ConsumersAnswer({name: self._told(name) for name in names if client.owns(name)})

    def one(self, client: Client, name: str) -> LeaseAnswer:
        """`GET /consumers/NAME`. ProblemError where there is none."""
        check_own(client, name)
        found = self._told(name)
        if found.file is None and not found.held:
            raise _unknown(name)
        return found

    def _told(self, name: str) -> LeaseAnswer:
        file, lease, version = self._file(name), self._leases.has(name), self._leases.version(name)
        if lease is not None:
            return LeaseAnswer(version, self._leases.rest(lease), file, self._journal.id, lease.holder)
        held = "a process on the node" if is_running(self._state, name) else ""
        return LeaseAnswer(version, 0.0, file, self._journal.id, held)

    def put(self, client: Client, name: str, asked: PutConsumer) -> LeaseAnswer:
        """`PUT /consumers/NAME`: durable when this returns."""
        check_writer(client)
        check_own(client, name)
        check_reader(asked.reader)
        if not asked.version:
            return self._take(client, name, asked)
        lease = self._leases.held(name, Claim(asked.reader, asked.version))
        if asked.file is not None:
            self._save(name, asked.file, asked)
        if asked.away is not None and lease.away is not None:
            lease.away.say(asked.away)
        if asked.gives_back:
            self._leases.release(lease)
            if not consumer_path(self._state, name).exists():
                self._leave_out(client)
        return LeaseAnswer(lease.version, self._leases.rest(lease))

    def drop(self, client: Client, name: str, claim: Claim | None) -> None:
        """`DELETE /consumers/NAME`: nothing is held back by it any more."""
        check_writer(client)
        check_own(client, name)
        if claim is not None:
            self._leases.held(name, claim)
        elif (lease := self._leases.has(name)) is not None:
            rest = self._leases.rest(lease)
            raise conflict(words.LEASED, f"consumer {name} is in use by {lease.holder}", after=rest)
        if not consumer_path(self._state, name).exists():
            raise _unknown(name)
        with self._holding(name), self._locked():
            forget_held(self._state, name)
        self._stands.pop(name, None)
        for whose in [whose for whose in self._asides if whose[1] == name]:
            del self._asides[whose]
        self._leases.forget(name)
        self._leave_out(client)

    def used(self, client: Client, more: int) -> int:
        """How many bytes of the journal are records of the client's consumers, who wants to add so many more."""
        every = self._journal.bytes_of(client.owns)
        # Where all that it may have fits nobody has to ask files whose each is.
        fits = every + more <= client.journal_bytes
        return every if fits else self._journal.bytes_of(partial(self._shares.counts, client))

    def decides_order(self, name: str) -> bool:
        """Whether all consumers that begin go by which segments this one saw appear: it runs on the node, or its client
        may define for all. Any other client could put the log into another order for everybody."""
        whose = self._shares.client_of(name)
        return whose is not None and (not whose or self._defines_for_all(whose))

    def make_room(self, client: Client) -> bool:
        """What only dropped consumers said goes from the journal, and what names did that were taken long ago; whether
        there was anything."""
        self._forget_old(client)
        return self._journal.leave_out_dropped(1)

    def keep_aside(self, client: Client, name: str, claim: Claim | None, entries: list[Kept]) -> None:
        """`POST /consumers/NAME/quarantine`: durable when this returns; what is there already stays once."""
        self.check_claim(client, name, claim)
        for node in dict.fromkeys(each.node for each in entries):
            kept = self._aside(client, name, node)
            try:
                for each in entries:
                    if each.node == node:
                        kept.put(each)
            except QuarantineFullError as error:
                raise QuarantineFullError(
                    f"the quarantine of {client.name} is full ({client.quarantine_bytes} bytes)",
                    at=error.at,
                    remedy="Look into it on the node (`cdc-tail quarantine DIR show`) and move its files away, or "
                    "raise `quarantine` where the node says who may ask. Then start again.",
                ) from error

    def _aside(self, client: Client, name: str, node: str) -> Quarantine:
        """Read again where somebody else has changed its file: it may be large, and each request is about it."""
        whose = client.name, name, node
        kept = self._asides.pop(whose, None)
        if kept is None or not kept.is_current():
            own = partial(self._shares.has, client)
            kept = Quarantine(self._state, name, node, client.quarantine_bytes, counts=own)
        if kept.places <= _PLACES_MAX:
            self._asides[whose] = kept
            if len(self._asides) > _ASIDES_MAX:
                self._asides.pop(next(iter(self._asides)))
        return kept

    def check_claim(self, client: Client, name: str, claim: Claim | None) -> Lease:
        """Who writes in a consumer's name has its lease, which lasts again from now on."""
        check_writer(client)
        check_own(client, name)
        if claim is None:
            raise conflict(words.NO_LEASE, f"consumer {name} is written under its lease", remedy="Take the name first.")
        return self._leases.held(name, claim)

    def _take(self, client: Client, name: str, asked: PutConsumer) -> LeaseAnswer:
        # Together, or two names would be taken where there is room for one.
        with self._taking:
            self._check_most(client, name)
            holder = f"{asked.program or 'a reader'} on {asked.host or 'another machine'}"
            shown = "".join(filter(str.isprintable, holder))[:100]
            lease = self._leases.take(name, client.name, asked.reader, shown)
        # Before the first offset leaves: it says whose it is.
        id = self._journal.identify()
        self._stands.pop(name, None)
        rest, stands = self._leases.rest(lease), self._standing(name)
        return LeaseAnswer(lease.version, rest, stands, id, defines_for_all=client.defines_for_all)

    def _check_most(self, client: Client, name: str) -> None:
        own = self._names(client)
        if name not in own and len(own) >= client.most:
            self._forget_old(client)
            own = self._names(client)
        if name not in own and len(own) >= client.most:
            raise not_allowed(
                f"{client.name} has {len(own)} consumers already, and may have {client.most}",
                "Drop one that is not needed any more, or raise the number where the node says who may ask. A name "
                f"that was taken or dropped counts for {FORGOTTEN_SECONDS / 60:.0f} minutes, and as long as it has "
                "entries in quarantine (`cdc-tail quarantine DIR list` on the node).",
            )

    def _leave_out(self, client: Client) -> None:
        """What only dropped consumers said goes from the journal, where that is worth writing it anew."""
        # The request is done without it. What keeps it from that is told where the journal is written next.
        with suppress(CdcError):
            self._journal.leave_out_dropped(min(DROPPED_BYTES, client.journal_bytes // 4))

    def _forget_old(self, client: Client) -> None:
        for each in self._names(client) - {*consumer_names(self._state)}:
            self._leases.forget_old(each)

    def _names(self, client: Client) -> set[str]:
        """The client's names that leave something in the state folder."""
        return {each for each in leased_names(self._state) if self._shares.has(client, each)}

    def _save(self, name: str, file: ConsumerFile, asked: PutConsumer) -> None:
        stands = self._standing(name)
        if stands is not None and _same(stands, file):
            # Its answer was lost: it stands there.
            return
        _check_file(name, file)
        try:
            self._journal.check(file)
        except RefusedError as error:
            raise of_error(error, words.REFUSED, 409) from error
        known = {} if stands is None else stands.nodes
        if asked.registers:
            with self._locked():
                if (tag := self._cleaned_tag()) != asked.cleaned_tag:
                    raise conflict(words.CLEANED, "`clean` has taken segments meanwhile", remedy=f"The list is {tag}.")
                if self._journal.has_forgotten(file):
                    # It went on after that list was written, and what the reader knew of the journal is older.
                    raise conflict(words.CLEANED, "`clean` has compacted the journal meanwhile")
                self._write(name, file)
            return
        if stands is not None and not consumer_path(self._state, name).exists():
            raise conflict(words.SUPERSEDED, f"consumer {name} was dropped")
        if not file.nodes.keys() <= known.keys():
            raise refused("a consumer that begins here registers", expected="`registers`, and `cleaned_tag`")
        self._write(name, file)

    def _write(self, name: str, file: ConsumerFile) -> None:
        # By this machine's clock: the lag that is told counts from it.
        written = msgspec.structs.replace(file, moved=self._leases.wall())
        try:
            write_consumer(self._state, written)
        except BaseException:
            # What stands there now is not known.
            self._stands.pop(name, None)
            raise
        self._stands[name] = written

    def _standing(self, name: str) -> ConsumerFile | None:
        """Where a consumer stands whose lock is held here."""
        if name not in self._stands and (file := self._file(name)) is not None:
            self._stands[name] = file
        return self._stands.get(name)

    def _file(self, name: str) -> ConsumerFile | None:
        path = consumer_path(self._state, name)
        return read_consumer(path, name) if path.exists() else None

    @contextmanager
    def _holding(self, name: str) -> Iterator[None]:
        """The name's lock is ours: by a lease, or for a moment."""
        lease = self._leases.known.get(name)
        if lease is not None and lease.lock >= 0:
            yield
            return
        try:
            lock = take_consumer(self._state, name)
        except RefusedError as error:
            raise conflict(words.LEASED, error.what, after=self._leases.seconds, remedy=error.remedy) from error
        try:
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """The state's lock, if nobody has it. BusyError."""
        with now_locked(self._state):
            yield


@contextmanager
def now_locked(state: Path) -> Iterator[None]:
    """The lock of a state folder, if nobody has it. BusyError."""
    inside = False
    try:
        with state_lock(state, 0.0):
            inside = True
            yield
    except RefusedError as error:
        if inside:
            raise
        raise BusyError(error.what) from error


def check_own(client: Client, name: str) -> None:
    """ProblemError where a consumer is none of the client's."""
    if not client.owns(name):
        raise not_allowed(
            f"{client.name} has no consumer {name!r}", f"Its consumers' names begin with {client.prefix!r}."
        )


def check_writer(client: Client) -> None:
    """ProblemError where a client may only read."""
    if client.read_only:
        raise not_allowed(f"{client.name} may only read", "Ask with a certificate or token that may write.")


def _check_file(name: str, file: ConsumerFile) -> None:
    """Only what this program would have written itself."""
    if file.v < VERSION:
        problem = Problem(
            words.REFUSED,
            "the consumer's file is that of an earlier program",
            expected=f"v {VERSION}",
            found=str(file.v),
            remedy="Upgrade the reader too.",
        )
        raise ProblemError(400, problem)
    if file.name != name or file.v != VERSION:
        raise refused("the consumer's file", expected=f"name {name}, v {VERSION}", found=f"{file.name}, {file.v}")
    for node, state in file.nodes.items():
        marks: tuple[NodeState | Mark, ...] = (state, *state.ahead)
        if not node or any(not _is_numbers(mark.memory) for mark in marks):
            raise refused("the consumer's file", expected="memories that are numbers alone", found=f"node {node!r}")
        try:
            for mark in marks:
                decode_node_offset(mark.offset.as_json())
        except msgspec.ValidationError as error:
            raise refused("the consumer's file", expected="offsets", found=str(error)) from error


def _unknown(name: str) -> ProblemError:
    return ProblemError(404, Problem(words.REFUSED, "no such consumer", found=repr(name)))


def _is_numbers(memory: Memory) -> bool:
    return not segments_of(memory).size


def _same(one: ConsumerFile, two: ConsumerFile) -> bool:
    """All but when it was written."""
    return msgspec.structs.replace(one, moved=0.0) == msgspec.structs.replace(two, moved=0.0)
