"""Whether what the consumers of a history gave is right: against each other, the server's SELECT, and the ledger.

Uses no decoder, and no code that made what it checks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.oracle.jsontext import dumps, loads
from tests.server.migrations.consumers import Consumer, Targets
from tests.server.migrations.fold import Folded
from tests.server.migrations.kept import Kept, known
from tests.server.migrations.last_images import last_images, told_twice
from tests.server.migrations.ledger import Expected
from tests.server.migrations.model import FUTURE, TTL, number_of
from tests.server.migrations.runner import DATABASES, Ran
from tests.server.migrations.server_view import Key, Row, ServerTable, canonical, without_names

CLOCKS = 1_000_000
"""µs by which a timestamp that the server chose may lie outside of the statement's time: ballots run ahead."""
SHOWN = 3
Images = Sequence[Mapping[str, Any]]
_NOTHING_ELSE = re.compile(r"\bSET \w+ = null(, \w+ = null)* WHERE ")
"""Of collections the server logs a deletion alone, which is 1 µs older than the statement: what an assignment puts in
its place is newer (`UpdateParameters.setComplexDeletionTimeForOverwrite`)."""


@dataclass(frozen=True)
class Difference:
    """`near`: the migrations of the table, with their steps."""

    check: str
    consumer: str
    table: str
    text: str
    near: tuple[str, ...] = ()

    def in_words(self) -> str:
        return "\n".join(
            [f"[{self.check}] {self.consumer} {self.table}: {self.text}", *(f"    {x}" for x in self.near)]
        )


@dataclass
class Result:
    """`counts`: what was compared, so that a check that compared nothing is seen; `incomplete`: rows that are marked as
    not known whole, by consumer and table."""

    differences: list[Difference] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    incomplete: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "differences": [asdict(each) for each in self.differences],
            "checks": dict(self.counts),
            "incomplete": self.incomplete,
        }


def check(ran: Ran, targets: Targets) -> Result:
    checking = _Checking(ran, targets)
    checking.ends()
    checking.rows()
    checking.images()
    checking.folds()
    checking.kept_tables()
    checking.typed()
    checking.spark()
    return checking.result


class _Checking:
    def __init__(self, ran: Ran, targets: Targets) -> None:
        self._ran, self._targets = ran, targets
        self.result = Result()
        self._rows = {c.life: _distinct(c.lines(), _row_key) for c in ran.consumers if c.kind == "rows"}
        self._images = {c.life: _distinct(c.lines(), _image_key) for c in ran.consumers if c.kind == "images"}
        self._nodes = {row["node"] for rows in self._rows.values() for row in rows}
        self._not_whole = ran.ledger.never_whole(ran.tables)

    # --- consumers ---

    def ends(self) -> None:
        for end in self._ran.ends:
            self._differ("end", end.consumer, "", f"step {end.step}, exit {end.code}: {end.text[-600:]}")

    # --- rows ---

    def rows(self) -> None:
        """The same rows for every consumer, and a row of every acknowledged write."""
        first = Counter(map(dumps, self._rows["caught-up"]))
        for life, rows in self._rows.items():
            self._count(f"rows {life}", len(rows))
            found = Counter(map(dumps, rows))
            for word, lines in (("lacks", first - found), ("has besides", found - first)):
                for table, texts in _by_table(lines).items():
                    self._differ("same rows", f"rows {life}", table, f"{word} {len(texts)} rows: {texts[0][:400]}")
            self._missing(life, rows)

    def _missing(self, life: str, rows: Sequence[Mapping[str, Any]]) -> None:
        stamps: dict[tuple[str, str], set[int]] = defaultdict(set)
        for row in rows:
            if row["partition_key"] is not None:
                stamps[_partition(row)].add(row["write_ts"])
        lacking: dict[str, list[Expected]] = defaultdict(list)
        for expected in self._ran.ledger.expected:
            self._count("acknowledged writes", 1)
            of, by = expected.target, expected.by
            found = stamps.get((of.table, str([number for _, number in of.key])), set())
            if by.first == by.last:
                there = by.first in found or (by.first - 1 in found and bool(_NOTHING_ELSE.search(by.text)))
            else:
                there = any(by.first - CLOCKS <= each <= by.last + CLOCKS for each in found)
            if not there and self._put_aside(life, expected):
                self._count("writes in quarantine", 1)
            elif not there:
                lacking[of.table].append(expected)
        for table, writes in lacking.items():
            first = writes[0].by
            text = f"no row of {len(writes)} acknowledged writes; the first: step {first.step}: {first.text[:300]}"
            self._differ("acknowledged writes", f"rows {life}", table, text, first.step)

    def _put_aside(self, life: str, expected: Expected) -> bool:
        """A table that was created and dropped between two looks at the server: its entries are in quarantine."""
        said = self._ran.consumer("rows", life).errors
        gone = self._ran.ledger.lives.get(expected.target.table) is not expected.life
        text = said.read_text() if said.exists() else ""
        return gone and any(expected.life.id in line and "quarantine" in line for line in text.splitlines())

    # --- images ---

    def images(self) -> None:
        """The same images, partition by partition, but for what their numbers and short TTLs make of them; of several
        nodes what is the same in whatever order their logs are merged (`last_images.py`)."""
        if len(self._nodes) > 1:
            self._last_images()
            return
        for life in ("lagging", "restarted"):
            mine_all, theirs_all = self._known_to_both(life)
            first, other = _by_partition(mine_all), _by_partition(theirs_all)
            differing: dict[str, list[str]] = defaultdict(list)
            for key in first.keys() | other.keys():
                self._count("partitions of images", 1)
                mine, theirs = first.get(key, []), other.get(key, [])
                if mine != theirs:
                    at = next((n for n, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
                    at = min(len(mine), len(theirs)) if at is None else at
                    text = f"caught-up: {_short(mine, at)}\n      {life}: {_short(theirs, at)}"
                    differing[key[0]].append(f"{len(mine)} and {len(theirs)} images of {key[2]}; {text}")
            for table, texts in differing.items():
                self._differ("same images", f"images {life}", table, f"{len(texts)} partitions: {texts[0]}")

    def _known_to_both(self, life: str) -> tuple[Images, Images]:
        """The images of the caught-up consumer and of another one, but for those of changes that one of them has put
        into quarantine: of tables that were created and dropped between two looks at the server."""
        both = "caught-up", life
        apart = {place for each in both for place in self._ran.consumer("images", each).put_aside()}
        mine, theirs = ([image for image in self._images[each] if _place(image) not in apart] for each in both)
        self._count("changes in quarantine", len(apart))
        return mine, theirs

    def _last_images(self) -> None:
        for life in ("caught-up", "lagging", "restarted"):
            mine, theirs = self._known_to_both(life)
            first, other = last_images(mine), last_images(theirs)
            differing: dict[str, list[str]] = defaultdict(list)
            for row in first.keys() | other.keys():
                self._count("rows of images", 1)
                if first.get(row) != other.get(row):
                    text = f"caught-up: {first.get(row)}\n      {life}: {other.get(row)}"
                    differing[row[0]].append(f"the last image of {row[2]} of {row[1]}; {text}")
            for row, image in told_twice(self._images[life]):
                differing[row[0]].append(f"twice: {dumps(image)[:400]}")
            for table, texts in differing.items():
                self._differ("same images", f"images {life}", table, f"{len(texts)} rows: {texts[0]}")

    def folds(self) -> None:
        for life, images in self._images.items():
            by_id: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
            for image in images:
                by_id[image["table_id"]].append(image)
            self._count(f"images {life}", len(images))
            for name, table in self._ran.tables.items():
                dropped = self._ran.ledger.dropped_columns(name)
                # While a table does not capture, its rows change without an image.
                try:
                    folded = Folded(table, dropped, self._ran.ledger.lives[name].since).take(by_id.get(table.id, ()))
                except (TypeError, ValueError) as error:
                    self._differ("fold", f"images {life}", name, f"a value of another type: {error}")
                    continue
                if folded.unknown_ops:
                    self._differ("fold", f"images {life}", name, f"ops that nobody knows: {folded.unknown_ops}")
                # What is newer than a DROP of its column lives again after ADD: no image says of which age a value is.
                unknown = FUTURE if dropped or life == "snapshot" or name in self._not_whole else ()
                self._equal("fold", f"images {life}", table, folded.rows, folded.complete, unknown)

    # --- kept tables ---

    def kept_tables(self) -> None:
        for consumer in self._ran.consumers:
            if consumer.kind not in DATABASES:
                continue
            database = Kept(consumer, self._targets)
            for name, table in self._ran.tables.items():
                self._kept(consumer, table, database.rows(name))
            for name in self._ran.ledger.gone:
                left = database.rows(name)
                # The server removes a segment without captured rows unread: such a DROP nobody is shown.
                by = self._ran.ledger.drops.get(name)
                shown = by is None or by.segments <= self._ran.segments
                self._count("dropped tables" if shown else "dropped tables whose DROP no log has", 1)
                if left and shown:
                    self._differ("dropped table", consumer.name, name, f"{len(left)} rows are left: {left[0]}")

    def _kept(self, consumer: Consumer, table: ServerTable, rows: list[dict[str, Any]] | None) -> None:
        if rows is None:
            if table.rows and table.name not in self._not_whole:
                self._differ("kept", consumer.name, table.name, f"no such table; SELECT: {len(table.rows)} rows")
            return
        lacking = set(table.types) - set(rows[0]) if rows else set()
        if lacking:
            self._differ("kept", consumer.name, table.name, f"no columns {sorted(lacking)}")
            return
        found, complete = {}, {}
        for row in rows:
            values = canonical(row, table.types)
            key = tuple(values[name] for name in table.key)
            if key in found:
                self._differ("kept", consumer.name, table.name, f"two rows of one key: {key}")
            # It says whether the row was known whole at its last image: the table may have ceased to capture since.
            found[key], complete[key] = values, known(row) and table.name not in self._not_whole
        unknown = FUTURE if consumer.life == "snapshot" else ()
        self._equal("kept", consumer.name, table, found, complete, unknown)

    def _equal(
        self,
        check_: str,
        consumer: str,
        table: ServerTable,
        found: Mapping[Key, Row],
        complete: Mapping[Key, bool],
        unknown: Collection[int],
    ) -> None:
        """Rows that are marked as not known whole may lack what is not known; no others may differ."""
        differing: dict[str, list[str]] = defaultdict(list)
        unknowable = table.name in self._not_whole
        for key in table.rows.keys() | found.keys():
            if number_of(key[0]) in unknown:
                self._count(f"{check_}: rows that nobody can know", 1)
                continue
            self._count(f"{check_}: rows", 1)
            mine, theirs = found.get(key), table.rows.get(key)
            if key in found and not complete[key]:
                self.result.incomplete[f"{consumer} {table.name}"] = (
                    self.result.incomplete.get(f"{consumer} {table.name}", 0) + 1
                )
            if mine is None and theirs is not None and not unknowable:
                differing["missing"].append(f"{theirs}")
            elif theirs is None and not complete[key] and _nothing_known(mine, table) and self._may_stay(check_, key):
                self._count("rows that may not be there", 1)
            elif mine is not None and theirs is None and (complete[key] or not unknowable):
                differing["not on the server"].append(f"{mine} (complete: {complete[key]})")
            elif mine is not None and theirs is not None:
                self._values(differing, mine, theirs, complete[key], unknowable)
        for word, texts in differing.items():
            text = f"{len(texts)} rows {word}: {'; '.join(texts[:SHOWN])}"
            self._differ(check_, consumer, table.name, text)

    def _may_stay(self, check_: str, key: Key) -> bool:
        """A row that is not known whole, and of which nothing is known any more: in a kept table where a TTL ended it,
        because the images cannot say whether the row has gone with its values."""
        return check_ == "fold" or (check_ == "kept" and number_of(key[0]) in TTL)

    def _values(
        self, differing: dict[str, list[str]], mine: Row, theirs: Row, complete: bool, unknowable: bool
    ) -> None:
        names = [name for name in theirs if without_names(mine[name]) != without_names(theirs[name])]
        if not complete:
            # Null may mean that nobody knows; a value that the table had while it did not capture is not known either.
            names = [] if unknowable else [name for name in names if mine[name] is not None]
        if names:
            shown = {name: (mine[name], theirs[name]) for name in names}
            key = {name: each for name, each in theirs.items() if name[0] in "ik"}
            differing["differ"].append(f"{key}: {shown} (complete: {complete}; ours, the server's)")
        elif mine != theirs and complete:
            self._count("values whose field names are older", 1)

    # --- typed ---

    def typed(self) -> None:
        """A table's typed rows are the changes that its rows are."""
        for name, (code, begins, rows, said) in self._ran.typed.items():
            self._count("typed rows", len(rows))
            if code != 0:
                self._differ("typed", "typed", name, f"exit {code}: {said[-600:]}")
                continue
            if name in self._not_whole:
                # A table that is named is read while it does not capture, too.
                continue
            id_ = self._ran.tables[name].id
            expected = Counter(
                row["event_id"]
                for row in self._rows["lagging"]
                if row["table_id"] == id_ and (row["segment"], row["offset"]) >= begins[row["node"]]
            )
            found = Counter(row["_event_id"] for row in rows if row["_table_id"] == id_)
            # What the reads at ALL have repaired since is in the logs of several nodes by now.
            if expected - found or (len(self._nodes) == 1 and expected != found):
                text = (
                    f"{sum(found.values())} rows for {sum(expected.values())}; {list((expected - found).items())[:3]}"
                )
                self._differ("typed", "typed", name, text)

    def spark(self) -> None:
        for each in self._ran.spark:
            name, way = each["table"], f"Spark {each['way']}"
            if "error" in each:
                self._differ("spark", way, name, f"step {each['step']}: {each['error']}")
                continue
            table = self._ran.tables[name]
            found = {}
            for row in each["rows"]:
                values = canonical(row, table.types)
                found[tuple(values[column] for column in table.key)] = values
            whole = dict.fromkeys(found, name not in self._not_whole)
            # A Delta table has what a TTL has ended until its partition is merged again.
            self._equal("spark", way, table, found, whole, TTL)

    # --- parts ---

    def _count(self, what: str, number: int) -> None:
        self.result.counts[what] += number

    def _differ(self, check_: str, consumer: str, table: str, text: str, step: int | None = None) -> None:
        near = tuple(self._ran.ledger.near(table, step)) if table else ()
        self.result.differences.append(Difference(check_, consumer, table, text, near))


def _distinct(lines: Iterable[str], key: Any) -> list[Any]:
    """Without what a consumer that ended gave again."""
    found = {}
    for line in lines:
        given = loads(line)
        found.setdefault(key(given), given)
    return list(found.values())


def _nothing_known(row: Row | None, table: ServerTable) -> bool:
    return row is None or all(value is None for name, value in row.items() if name not in table.key)


def _row_key(row: Mapping[str, Any]) -> str:
    return dumps([row["event_id"], row["node"], row["table_id"]])


def _image_key(image: Mapping[str, Any]) -> str:
    names = ("table_id", "token", "partition_key", "clustering", "is_static", "seq", "op", "range")
    return dumps([image[name] for name in names])


def _partition(row: Mapping[str, Any]) -> tuple[str, str]:
    return f"{row['keyspace']}.{row['table']}", str([number_of(each) for each in row["partition_key"].values()])


def _by_table(lines: Iterable[str]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for line in lines:
        row = loads(line)
        found[f"{row['keyspace']}.{row['table']}"].append(line)
    return found


def _place(image: Mapping[str, Any]) -> tuple[str, int, int] | None:
    """Node, segment and offset of the change that made an image; None where a server's response did."""
    parts = (image["event_id"] or "").split(":")
    return (parts[0], int(parts[1]), int(parts[2])) if len(parts) == 4 and parts[1].isdigit() else None


def _by_partition(images: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], list[str]]:
    """By table, its id and the values of the key: images without what may vary, and without short TTLs."""
    found = defaultdict(list)
    for image in images:
        partition = image["partition_key"]
        if partition is not None and number_of(next(iter(partition.values()))) in TTL:
            continue
        shown = {name: each for name, each in image.items() if name not in ("seq", "prev_seq")}
        # A renamed key column is the same partition.
        key = (f"{image['keyspace']}.{image['table']}", image["table_id"], dumps(list((partition or {}).values())))
        found[key].append(dumps(shown))
    return found


def _short(images: Sequence[str], at: int) -> str:
    if at >= len(images):
        return "nothing"
    image = loads(images[at])
    names = ("op", "is_static", "clustering", "before", "after", "changed", "write_ts", "complete", "event_id")
    return dumps({name: image[name] for name in names if name in image})[:500]
