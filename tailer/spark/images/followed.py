"""What the driver knows of the logs that a frame reads when a query of images is made. Starts nothing, writes nothing.

UsageError for what images cannot be made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from tailer.errors import UsageError
from tailer.options.images import check_images
from tailer.options.to_spark import PROGRAM, SourceOptions, parse_options
from tailer.planning.batch_tasks import RowOptions
from tailer.rebuild import Table
from tailer.schema.masks import Masks
from tailer.schema.model import TableDefinition
from tailer.schema.selection import Selection
from tailer.spark.images.job import Earlier, Job, Node, raw
from tailer.spark.known_table import Folders
from tailer.spark.newest import successor
from tailer.spark.own_start import begun
from tailer.spark.present import there
from tailer.state.journal_records import OptionsRecord

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tailer.definitions.whole_folder import Learnt
    from tailer.state.node_log import NodeLog

_SHOWN: Final = 5
_ADD: Final = 'Add .option("includeSchemaChanges", "true") to the stream of changes.'


class Followed(NamedTuple):
    """As a job has it."""

    nodes: dict[str, Node | None]
    tables: dict[str, msgspec.Raw]
    earlier: dict[str, list[Earlier]]

    def job(self, before: bool = True, expirations: bool = True, forget_after: int | None = None) -> Job:
        return Job(self.nodes, self.tables, before, expirations, forget_after, self.earlier)


def sources(changes: DataFrame) -> list[SourceOptions]:
    """What each stream of a log in the frame reads. UsageError for one that images cannot be made of."""
    reads = [begun(parse_options(options)) for options in _streams(changes)]
    for source in reads:
        check_source(source)
    return reads


def followed(reads: Sequence[SourceOptions], tables: Iterable[Table], nodes: Sequence[str] | None) -> Followed:
    """Of all logs that are read; of a frame that reads none the `nodes` that are named."""
    given = {table.definition.id: raw(table) for table in tables}
    if not reads:
        if nodes is None:
            raise UsageError(
                "the rows come from no log: whose are they?", remedy='Name all nodes: images(…, nodes=["n1", "n2"]).'
            )
        return Followed(dict.fromkeys(nodes, None), given, {})
    found = Followed({}, {}, {})
    for source in reads:
        _look(source, found)
    # What is given counts, wherever a log tells of it too.
    earlier = {id: told for id, told in found.earlier.items() if id not in given}
    return Followed(found.nodes, {**found.tables, **given}, earlier)


def _streams(changes: DataFrame) -> Iterator[dict[str, str]]:
    """The options of each stream of a log in a frame's plan."""
    frame: Any = getattr(changes, "_jdf", None)
    leaves: Any = frame.queryExecution().analyzed().collectLeaves() if frame is not None else None
    for number in range(leaves.size() if leaves is not None else 0):
        leaf = leaves.apply(number)
        if leaf.getClass().getSimpleName() == "StreamingRelationV2" and leaf.sourceName() == PROGRAM:
            given = leaf.extraOptions().asCaseSensitiveMap()
            yield {str(name): str(given[name]) for name in given}


def check_source(source: SourceOptions) -> None:
    """UsageError for a stream that images cannot be made of."""
    check_images(source.tail)
    if source.tail.table is not None:
        raise UsageError(
            "images are made of rows of the generic form",
            remedy='Leave out the option table of the stream, and say it of the images: images(…, table="ks.t").',
        )
    if not source.tail.schema_changes:
        raise UsageError("images follow the tables' definitions by rows with op = schema", remedy=_ADD)
    if source.tail.accept_loss or source.tail.on_error != "stop":
        raise UsageError(
            "images in Spark: which rows a loss or an entry in quarantine makes known in part, no task can tell",
            remedy="Leave out failOnDataLoss=false and onError; `cdc-tail follow --image` takes both.",
        )


def _look(source: SourceOptions, found: Followed) -> None:
    names = [name for name, _ in source.places]
    here = there(source)
    found.nodes.update(dict.fromkeys(names, None))
    for (name, _), (log, learnt) in zip(here, Folders(replace(source, places=tuple(here))).learnt, strict=True):
        _check_tables(source, log, learnt)
        found.nodes[name] = _node(learnt)
        for id, newest in learnt.history.newest.items():
            if source.tail.selection.wants(newest):
                table, known = _table(learnt, id, source.tail.masks), found.job().table(id)
                found.tables[id] = raw(table if known is None else successor(known, table))
                found.earlier.setdefault(id, []).extend(_earlier(name, learnt, id, source.tail.masks))


def _check_tables(source: SourceOptions, log: NodeLog, learnt: Learnt) -> None:
    """UsageError where a table is read no more that was before: rows are passed over then, and no task could tell."""
    consumer, now = source.tail.consumer, source.tail.selection
    told = [r for r in log.home.journal(writable=False).read() if isinstance(r, OptionsRecord)]
    last = next((RowOptions.of(record) for record in reversed(told) if record.consumer == consumer), None)
    if last is None or not last.schema_changes:
        return
    before = Selection(last.tables, last.masks.tables)
    there = [each for each in learnt.history.newest.values() if not each.dropped]
    left = [each.name for each in there if before.wants(each) and not now.names(each)]
    if left:
        raise UsageError(
            f"consumer {consumer} has read {', '.join(sorted(left)[:_SHOWN])}, which it reads no more: images would "
            "have a gap there that nobody could tell when it reads it again",
            remedy="Name the same tables again, or more; or begin anew, with another consumer and another checkpoint.",
        )


def _node(learnt: Learnt) -> Node:
    history = learnt.history
    places = {id: history.created_at(id) for id in history.newest}
    created = {id: None if at is None else (at.segment, at.offset) for id, at in places.items()}
    return Node(created, native=bool(history.native))


def _table(learnt: Learnt, id: str, masks: Masks) -> Table:
    history = learnt.history
    newest = history.newest[id]
    _check_masks(newest, masks)
    earlier = [held for event in history.events for held in event.changed.values() if held.id == id]
    return Table.of(masks.shown(newest), earlier, native=(id in history.native))


def _earlier(node: str, learnt: Learnt, id: str, masks: Masks) -> Iterator[Earlier]:
    """What a table was in a node's log, from each place on where that changed; nothing of one that never did."""
    history = learnt.history
    told = [(each.at, held) for each in history.events for held in each.changed.values() if held.id == id]
    for number, (at, held) in enumerate(told if len(told) > 1 else ()):
        before = [each for _, each in told[:number]]
        table = Table.of(masks.shown(held), before, native=(id in history.native))
        yield Earlier(node, (at.segment, at.offset), raw(table))


def _check_masks(newest: TableDefinition, masks: Masks) -> None:
    how = masks.of(newest.name)
    for column in newest.clustering:
        if column.name in how:
            raise UsageError(
                f"the mask of {newest.name}.{column.name} hides which rows a deletion of a range takes",
                remedy="Leave out the mask, or the table (exclude).",
            )
