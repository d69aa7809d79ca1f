"""Rows that are read again from their server: of which the state cannot tell any more what a change made of them.

A row is asked for soon after the question came up, and then more and more seldom, until the answer is as old as all
that is known of it. Until then its images say that they are not complete.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final

from tailer.errors import SystemFailedError, UsageError
from tailer.image_state.one_transaction import Transaction
from tailer.images import Image
from tailer.images.guesses import SLACK_SECONDS
from tailer.images.merged_tables import SECOND
from tailer.images.questions import Open, Question, Questions
from tailer.images.served import EventIds, ServedRows
from tailer.images.tables import KnownTable, Tables
from tailer.options.snapshot import SnapshotOptions
from tailer.reading.counted_notices import CountedNotices
from tailer.reading.replaced_texts import count_replaced
from tailer.rebuild.changes import OWN, token_of
from tailer.schema.server import Session, has_another, lacks_table, open_session
from tailer.schema.server_rows import raw
from tailer.snapshot.reading import TableReading
from tailer.tail.follow import Say
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import ImageStream
from tailer.tail.snapshot.in_state import Guard, TableInState, version_of
from tailer.tail.snapshot.nodes import Nodes
from tailer.tail.snapshot.run import RETRY_SECONDS
from tailer.types.parts import parts_of

LOOK_SECONDS: Final = 1.0
MOST_SECONDS: Final = 16
"""Between two answers about one row; more than what is not settled of it yet."""

MEND_TRIES: Final = 10
"""So often a row of `compare --mend` is asked for that is written again before each response counts."""

_ASIDE_SECONDS_MAX: Final = 300.0
"""Between two tries of a table whose rows cannot be read."""

_GONE_TRIES: Final = 3
"""A table that the servers do not have, so often in a row, was dropped: its rows are not asked for any more."""

_BATCH: Final = 200
"""Rows that are asked for before their answers are merged."""


class Rereading:
    """Of one run, in a thread of its own."""

    def __init__(self, stream: ImageStream, nodes: Nodes, options: SnapshotOptions, guard: Guard, say: Say) -> None:
        self._stream, self._nodes, self._options = stream, nodes, options
        self._guard, self._say = guard, say
        self._servers = deque(nodes.servers.values())
        self._notices = CountedNotices()
        self._events = EventIds(f"snapshot:again:{int(stream.wall())}:", 1)
        self._ending = threading.Event()
        self._failed: BaseException | None = None
        self._asked = ""
        """The id of the table of which the server is being asked; empty for none."""
        self._aside: dict[str, tuple[int, float]] = {}
        """Tables whose rows could not be read: how often in a row, and the second until which they wait."""
        self._thread = threading.Thread(target=self._run, name="cdc-tail-rereading", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Raises what ended it."""
        if self._failed is not None:
            raise self._failed

    def close(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._tell_due(last=True)

    def settled(self) -> bool:
        """Whether nothing is to be asked."""
        return not any(True for _ in self._stream.read(lambda seen: list(islice(Questions(seen.store).open(), 1))))

    def _run(self) -> None:
        try:
            while not self._ending.wait(LOOK_SECONDS):
                # What is read is marked with the places of those who hold it.
                due = self._due() if self._stream.stands() else []
                if due:
                    self._ask(due)
        except BaseException as error:
            # Raised by `check`: a thread has nobody to tell.
            self._failed = error

    def _tell_due(self, *, last: bool = False) -> None:
        for notice in self._notices.take(last=last):
            self._say(notice)

    def _due(self) -> list[Open]:
        now = int(self._stream.wall())

        def look(seen: Transaction) -> list[Open]:
            aside = {id for id, (_, until) in self._aside.items() if until > self._stream.wall()}
            wanted = (each for each in Questions(seen.store).open() if each.question.table_id not in aside)
            return list(islice((each for each in wanted if _at(each) <= now), _BATCH))

        return self._stream.read(look)

    def _ask(self, due: Sequence[Open]) -> None:
        try:
            if not self._nodes.asked:
                self._nodes.ask()
        except (SystemFailedError, UsageError) as error:
            self._put_off(f"rows cannot be read again from their server: {error.sentence()}")
            return
        left: dict[str, list[Open]] = {}
        for each in due:
            left.setdefault(each.question.table_id, []).append(each)
        while left and not self._ending.is_set():
            self._asked = ""
            try:
                with open_session(self._servers[0]) as session:
                    self._answer(left, raw(session))
            except (SystemFailedError, UsageError) as error:
                if not self._asked:
                    self._put_off(f"rows cannot be read again from their server: {error.sentence()}")
                    return
                # Another server may answer the next time; the other tables do not wait for this one.
                self._servers.rotate()
                self._set_aside(self._asked, error)
                del left[self._asked]

    def _put_off(self, sentence: str) -> None:
        """No server answers: try another one later."""
        self._servers.rotate()
        self._say(sentence)
        self._ending.wait(RETRY_SECONDS)

    def _set_aside(self, table_id: str, error: SystemFailedError | UsageError) -> None:
        """Ask of a table again later; then more and more seldom."""
        tries = self._aside.get(table_id, (0, 0.0))[0] + 1
        seconds = min(RETRY_SECONDS * 2 ** (tries - 1), _ASIDE_SECONDS_MAX)
        self._aside[table_id] = tries, self._stream.wall() + seconds
        name = next((t.facts.table.name for t in self._stream.read(_tables) if t.id == table_id), table_id)
        if tries >= _GONE_TRIES and (lacks_table(error) or has_another(self._servers[0], name, table_id)):
            count = self._forget_table(table_id)
            self._say(f"{name}: {count} rows are not read again: the server does not have the table ({error.found})")
            return
        self._say(
            f"rows of {name} cannot be read again from their server, other tables' rows are: {error.sentence()} "
            f"They are asked for again in {seconds:.0f} s; until then their images say that they are not complete."
        )

    def _answer(self, left: dict[str, list[Open]], session: Session) -> None:
        """Ask of table after table; what was answered is not `left` any more."""
        tables = {table.id: table for table in self._stream.read(_tables)}
        for id in list(left):
            self._asked = id
            self._of_table(tables[id], left[id], session)
            self._aside.pop(id, None)
            del left[id]
        self._asked = ""

    def _of_table(self, table: KnownTable, due: Sequence[Open], session: Session) -> None:
        if table.facts.dropped:
            self._forget(due)
            return
        until = int((self._stream.wall() - SLACK_SECONDS) * SECOND)
        reading = TableReading(session, table.plan, self._nodes.release, self._options.consistency)
        found = [(each, _read(reading, each, table, until)) for each in due]
        count_replaced(reading.replaced, self._notices)
        self._tell_due()
        if not self._nodes.has(table.facts.table.definition.keyspace):
            # It was created since: without its replicas nobody would vouch for the rows.
            self._nodes.ask()
        snapshot = TableInState(self._stream, self._guard, self._nodes, table.facts.table, 0.0)

        def work(transaction: Transaction, merging: Merging) -> list[Image]:
            images, now = list[Image](), merging.merger.table(table.id)
            if now is None or version_of(now) != version_of(table):
                # Read by another definition than it has by now: asked for again.
                return images
            for each, rows in found:
                token = token_of(each.question.partition)
                answer = snapshot.answer(transaction, merging, token, until, self._events)
                images += merging.merger.answered(each, rows, answer, merging.now_us)
            restless.extend(_given_up(Questions(transaction.store), {each.question for each, _ in found}))
            return images

        restless: list[Open] = []
        with self._guard():
            self._stream.work(work)
        if restless:
            self._say(
                f"{len(restless)} rows of {table.facts.table.name} are not mended: they were written again before each "
                f"of {MEND_TRIES} responses. Give `cdc-tail compare --mend` again when they are written less often."
            )

    def _forget_table(self, table_id: str) -> int:
        """The server does not have it any more: nobody asks for its rows; how many they were."""
        opened = self._stream.read(lambda seen: list(Questions(seen.store).open()))
        due = [each for each in opened if each.question.table_id == table_id]
        self._forget(due)
        self._aside.pop(table_id, None)
        return len(due)

    def _forget(self, due: Sequence[Open]) -> None:
        """Of a table that is gone nobody asks any more."""

        def work(transaction: Transaction, merging: Merging) -> list[Image]:
            for each in due:
                merging.merger.questions.answered(each.question)
            return []

        self._stream.work(work)


def _given_up(questions: Questions, asked: Collection[Question]) -> list[Open]:
    """Those of `asked` that were to be mended and have had all their tries: they are read again as any other row."""
    over = [each for each in questions.open() if each.question in asked]
    over = [each for each in over if each.question.mends and each.tries >= MEND_TRIES]
    for each in over:
        questions.answered(each.question)
        questions.ask(each.question._replace(mends=False), each.at)
    return over


def _tables(seen: Transaction) -> list[KnownTable]:
    return list(Tables(seen.store))


def _at(each: Open) -> int:
    """The second in which a question is due."""
    return int(each.at + min(2**each.tries, MOST_SECONDS))


def _read(reading: TableReading, asked: Open, table: KnownTable, until: int) -> ServedRows:
    question = asked.question
    floor = table.floors.at(token_of(question.partition))
    if question.mends:
        known = until
    elif floor is None:
        return {}
    else:
        known = floor.until
    if question.whole:
        return reading.partition(question.partition, known)
    if question.row == OWN:
        return reading.row(question.partition, None, known)
    clustering = parts_of(question.clustering, 0, len(table.plan.clustering))
    return reading.row(question.partition, clustering, known)
