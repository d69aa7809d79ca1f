"""The parts of a node that serves, as they are made of its options. Where everything of it meets."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tailer.options.listen import Listen
from tailer.serve.access import Access
from tailer.serve.clean_list import CleanList
from tailer.serve.connections import Gate
from tailer.serve.consumers import Consumers
from tailer.serve.counts import Counts, LeaseNow
from tailer.serve.files import Files
from tailer.serve.holds import Holds
from tailer.serve.hosts import Hosts
from tailer.serve.leases import Leases
from tailer.serve.listing import Listing
from tailer.serve.names import Names
from tailer.serve.node_journal import NodeJournal
from tailer.serve.options import STATUS_CONNECTIONS_MAX, ServeOptions
from tailer.serve.own_reading import OwnReading
from tailer.serve.rate import Bucket
from tailer.serve.records import Records
from tailer.serve.seen import Seen
from tailer.serve.status import Status
from tailer.serve.threads import Disk
from tailer.wire.listing import ListAnswer

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Parts:
    """What answers, and what it rests on."""

    access: Access
    disk: Disk
    journal: NodeJournal
    listing: Listing
    files: Files
    leases: Leases
    consumers: Consumers
    records: Records
    reading: OwnReading
    holds: Holds
    status: Status
    names: Names
    gate: Gate
    status_gate: Gate
    counts: Counts


@dataclass(frozen=True, slots=True)
class State:
    """What is kept beside the log folder, opened."""

    folder: Path
    journal: NodeJournal
    cleaned: CleanList


def open_state(folder: Path) -> State:
    """The state folder, which is there. Reads files."""
    return State(folder, NodeJournal(folder), CleanList(folder))


def parts_of(options: ServeOptions, address: Listen, state: State, disk: Disk, clock: Clock, wall: Clock) -> Parts:
    """In the loop's thread. `address`: where clients ask. `clock`: of leases, `wall`: seconds since the epoch."""
    bounds, journal, names, counts = options.bounds, state.journal, Names(), Counts()
    leases = Leases(state.folder, clock, wall, bounds.lease_seconds)
    consumers = Consumers(leases, journal, state.cleaned.tag, options.clients.defines_for_all)
    reading = OwnReading(options.folder, options.reading)
    files = Files(options.folder, disk, Bucket(options.rate), state.cleaned.has, counts.sent, bounds.piece_seconds)
    listing = Listing(
        Seen(options.folder, state.cleaned, journal.count_now),
        files,
        disk,
        secrets.token_hex(8),
        lambda: ListAnswer(address.host, address.port, [], folder=journal.id),
        lambda: int(wall() * 1e9),
    )
    gate = Gate(bounds.connections, bounds.piece_seconds)
    counts.rate = options.rate
    counts.connections = lambda: gate.inside
    counts.waiting = lambda: listing.waiting
    counts.leases = lambda: _leases_now(leases)
    return Parts(
        access=Access(options.clients, Hosts({options.listen.host, *options.host_names})),
        disk=disk,
        journal=journal,
        listing=listing,
        files=files,
        leases=leases,
        consumers=consumers,
        records=Records(journal, consumers, reading, disk, names),
        reading=reading,
        holds=Holds(state.folder, wall),
        status=Status(options.folder, options.reading.node, options.cap, disk),
        names=names,
        gate=gate,
        status_gate=Gate(STATUS_CONNECTIONS_MAX, bounds.piece_seconds),
        counts=counts,
    )


def _leases_now(leases: Leases) -> list[LeaseNow]:
    skew = leases.wall() - leases.clock()
    held = [each for each in list(leases.known.values()) if leases.has(each.name)]
    return [LeaseNow(each.name, each.holder, each.since + skew, each.until + skew) for each in held]
