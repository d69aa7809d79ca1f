"""Faults chosen by hand, to be put into the product one at a time (`faults.py`)."""

from __future__ import annotations

from typing import Final

from tests.simulation.faults import Fault

FAULTS: Final = (
    Fault(
        "a position is saved before its rows are taken",
        "tailer/api.py",
        "yield batch.to_arrow()\n                tail.took(step, task, batch)\n",
        "tail.took(step, task, batch)\n                tail.save_taken()\n                yield batch.to_arrow()\n",
    ),
    Fault(
        "what expires does not win over what stays, at one time",
        "tailer/rebuild/facts.py",
        "return write_ts, 1, expires_at, -(ttl or 0), value, path",
        "return write_ts, 0, 0, 0, value, path",
    ),
    Fault(
        "a tombstone does not win, at one time",
        "tailer/rebuild/facts.py",
        'return write_ts, 2, 0, 0, b"", path',
        'return write_ts, 0, 0, 0, b"", path',
    ),
    Fault(
        "a deletion covers what is older than it, and not what is as old",
        "tailer/images/standing.py",
        "over = [deletion.marks for deletion in deletions if deletion.write_ts >= fact.write_ts]",
        "over = [deletion.marks for deletion in deletions if deletion.write_ts > fact.write_ts]",
    ),
    Fault(
        "what was dropped with its column, at the very time, comes again",
        "tailer/images/standing.py",
        "return NO_TIME < fact.write_ts <= plan.voids.get(fact.column, NO_TIME)",
        "return NO_TIME < fact.write_ts < plan.voids.get(fact.column, NO_TIME)",
    ),
    Fault(
        "completeness is not compared",
        "tailer/images/chain.py",
        'return "read" if after.text is not None and after.complete and not before.complete else None',
        "return None",
    ),
    Fault(
        "a truncation takes what is behind it, too",
        "tailer/images/marks.py",
        "mark.node != node or mark.place >= before)",
        "mark.node != node)",
    ),
    Fault(
        "a range ends before its upper edge begins",
        "tailer/images/partition.py",
        "fact.path <= key < fact.value",
        "fact.path < key < fact.value",
    ),
    Fault(
        "images leave the outbox before they were taken",
        "tailer/tail/images/stream.py",
        "transaction.take_out(self._taken)\n            images =",
        "transaction.take_out(transaction.last)\n            images =",
    ),
    Fault(
        "rows are merged without their place",
        "tailer/tail/images/stream.py",
        "            put_place(transaction, node, behind)\n",
        "",
    ),
    Fault(
        "a transaction that failed is committed",
        "tailer/image_state/file.py",
        "        except BaseException:\n            transaction.abort()\n            raise\n",
        "        except BaseException:\n            transaction.commit()\n            raise\n",
    ),
    Fault(
        "a full map is an error",
        "tailer/image_state/file.py",
        "            except lmdb.MapFullError:\n                self._grow()\n",
        "            except lmdb.MapFullError:\n                raise\n",
    ),
    Fault(
        "a row of an earlier table with the same id counts",
        "tailer/rebuild/table.py",
        "            return place < self.ended[node]\n",
        "            return False\n",
    ),
    Fault(
        "clean takes what a consumer is still to read",
        "tailer/retention/needed.py",
        "        if segment > self.restart.segment:\n            return Need.UNREAD\n",
        "        if segment > self.restart.segment:\n            return None\n",
    ),
    Fault(
        "clean takes what is still written",
        "tailer/retention/needed.py",
        "    if not held.finished or (floor is not None and held.segment >= floor):",
        "    if floor is not None and held.segment >= floor:",
    ),
    Fault(
        "a name is not durable",
        "tailer/on_disk.py",
        "    temporary.replace(path)\n    sync_folder(path.parent)\n",
        "    temporary.replace(path)\n",
    ),
    Fault(
        "the number of an image may be that of the one before",
        "tailer/images/chain.py",
        "    header.seq = max(before + 1, now_us)\n",
        "    header.seq = max(before, now_us)\n",
    ),
    Fault(
        "what a definition leaves behind stays in the state",
        "tailer/images/merged_tables.py",
        "        created = created and (facts.ended_at is None or facts.reached >= self._followed)\n",
        "",
    ),
    # Faults that the product had (A and B of the list that users gave), put back.
    Fault(
        "A2: a response counts for what the log shows later",
        "tailer/definitions/history.py",
        "        return self._evidence().before(response, may, at)\n",
        "        return list(response)\n",
    ),
    Fault(
        "A3: tables of the schema are read at several moments",
        "tailer/schema/server.py",
        "    before = _read_tables(session)\n",
        "    return _read_tables(session)\n",
    ),
    Fault(
        "A5: a table that is created again with its id has no images",
        "tailer/images/merged_tables.py",
        'where a definition that a node\'s log shows is one of it."""\n',
        'where a definition that a node\'s log shows is one of it."""\n        return\n',
    ),
    Fault(
        "A8: what goes into quarantine is not said",
        "tailer/tail/unknown_tables.py",
        "        self._notices = CountedNotices(clock)\n",
        "        self._notices = CountedNotices(clock)\n        self._notices.take = lambda **_: []\n",
    ),
    Fault(
        "A10: a column that is added again is null in rows that no image told of",
        "tailer/sinks/database/migrate.py",
        "            if after[step.column].dropped_time is not None and (was is None or was.dropped):\n",
        "            if False:\n",
    ),
    Fault(
        "A13: an error keeps a consumer's name locked",
        "tailer/state/consumers.py",
        "        with closed_on_error(lock), told(",
        "        with told(",
    ),
    Fault(
        "A14: nobody is asked for a table that nothing defines",
        "tailer/tail/unknown_tables.py",
        "        known = self._outside.ask_for_table(error.table, at)\n",
        "        known = False\n",
    ),
    Fault(
        "A15: the newest definition is that of older rows",
        "tailer/definitions/history.py",
        "        count = bisect_right(self._positions, at)\n        if count != self._cached:\n",
        "        count = len(self._positions)\n        if count != self._cached:\n",
    ),
    Fault(
        "A15: images are merged by a definition behind them",
        "tailer/tail/images/told.py",
        "        images = self._changed(merging, at)\n        for id in tables:",
        "        images = self._changed(merging, Position(2**62, 0))\n        for id in tables:",
    ),
    Fault(
        "A20: becoming complete with the last node is not told",
        "tailer/images/merged_tables.py",
        "        yield from self._confirm(CONFIRMED_AT_ONCE, self.begin(now))\n",
        "",
    ),
    Fault(
        "A21: definitions of other nodes count for nothing",
        "tailer/definitions/peers.py",
        "        own = known.history.shown_behind(at)\n        next_own",
        "        return []\n        own = known.history.shown_behind(at)\n        next_own",
    ),
    Fault(
        "B1: a client defines for everybody",
        "tailer/serve/records.py",
        "    if not client.defines_for_all:\n        raise not_allowed(",
        "    if False:\n        raise not_allowed(",
    ),
    Fault(
        "B1: a client decides in another's name",
        "tailer/serve/records.py",
        "        elif not asked.consumer or consumer_of(record) != asked.consumer:\n",
        "        elif False:\n",
    ),
    Fault(
        "B4: a client has every consumer",
        "tailer/serve/clients.py",
        "        return consumer is None or consumer.startswith(self.prefix)\n",
        "        return True\n",
    ),
)


def named(name: str) -> Fault:
    """The one of that name."""
    return next(fault for fault in FAULTS if fault.name == name)
