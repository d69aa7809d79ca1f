"""The masks of one run: held against every definition that is known, before its rows; and those of its consumer before.

A misspelt mask hides nothing, and one that is forgotten shows what was hidden so far: both are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tailer.definitions.at_spans import builtin
from tailer.errors import RefusedError, UsageError
from tailer.position import Position
from tailer.schema.masks import NO_MASKS, Masks, check_known
from tailer.schema.model import TableDefinition
from tailer.state.home import HeldConsumer
from tailer.state.journal import Journal
from tailer.state.journal_records import MasksRecord
from tailer.tail.named import NamedTables
from tailer.tail.parts import TailParts


class MaskedTables:
    """Of one run."""

    def __init__(self, parts: TailParts, named: NamedTables) -> None:
        self._parts = parts
        self._named = named
        self._masks = parts.own_masks
        self._seen: tuple[int, int] | None = None
        self._are_kept = False

    def check(self, planned: Position | None) -> None:
        """Before the first row: UsageError for what nothing defines, wherever in the folder it stands."""
        missing = self.undefined(planned) if self._masks else ()
        if missing and not self._may_come:
            raise nothing_to_mask(missing)

    def undefined(self, planned: Position | None) -> tuple[str, ...]:
        """The tables of masks that nothing in the folder defines now; UsageError for masks that cannot be."""
        self._named.learn((*dict.fromkeys(mask.table for mask in self._masks.columns), *self._masks.tables), planned)
        return self._known()

    def check_news(self) -> None:
        """The same of definitions that were learnt since, before their rows. The first call journals the masks of the
        consumer."""
        if self._masks and self._seen != self._parts.definitions.history.version:
            self._known()
        if self._parts.consumer is not None and not self._are_kept:
            # Not earlier: the masks of a refused run, misspelt ones for example, would bind the runs after it.
            keep_masks(self._parts.journal, self._parts.consumer.name, self._masks)
            self._are_kept = True

    def _known(self) -> tuple[str, ...]:
        self._seen = self._parts.definitions.history.version
        if self._parts.placement.extras.by_ring:
            check_tokens(self._masks, self.definitions())
        return check_known(self._masks, self.definitions(), may_come=self._may_come)

    @property
    def _may_come(self) -> bool:
        options = self._parts.options
        return options.masks_may_come or options.one_of_several

    def definitions(self) -> Iterator[TableDefinition]:
        """All that are known here by now, earlier ones too."""
        yield from builtin().values()
        yield from self._parts.definitions.latest().values()
        for event in self._parts.definitions.history.events:
            yield from event.changed.values()


def check_tokens(masks: Masks, definitions: Iterable[TableDefinition]) -> None:
    """UsageError for a mask that hides a row's token, where rows are judged by it."""
    masked = {(mask.table, mask.column) for mask in masks.columns}
    for table in definitions:
        for column in table.partition_key:
            if (table.name, column.name) in masked:
                raise UsageError(
                    f"--mask {table.name}.{column.name} hides by which token a row's replicas are found",
                    remedy="Leave out the mask, or replicas=primary and withPrimary (--replicas, --with-primary).",
                )


def nothing_to_mask(tables: tuple[str, ...]) -> UsageError:
    """The error for masks of tables that nothing defines."""
    return UsageError(
        f"no definition for table {' or '.join(tables)}, which --mask or --exclude names",
        remedy="Correct the name; a table that is created later is waited for with --mask-may-come (masksMayCome in "
        "Spark, masks_may_come in Python).",
    )


def kept_masks(journal: Journal, consumer: str) -> Masks:
    """The masks that a consumer ran with last."""
    told = [r.masks for r in journal.read() if isinstance(r, MasksRecord) and r.consumer == consumer]
    return told[-1] if told else NO_MASKS


def check_masks(journal: Journal, consumer: HeldConsumer, node: str, masks: Masks) -> None:
    """RefusedError for masks with which a consumer cannot go on: one that it has is gone or another, or hashes would be
    made with another key. It may have more than before. One that begins forgets those of an earlier one of its name.
    """
    held = kept_masks(journal, consumer.name)
    if consumer.node(node) is not None:
        _check_same(held, masks, consumer.name)
    elif held:
        keep_masks(journal, consumer.name, NO_MASKS)


def keep_masks(journal: Journal, consumer: str, masks: Masks) -> None:
    """Journal the masks of a run, before its first row is delivered."""
    if masks != kept_masks(journal, consumer):
        journal.append([MasksRecord(consumer=consumer, masks=masks)])


def _check_same(held: Masks, masks: Masks, consumer: str) -> None:
    gone = [f"{each.table}.{each.column}={each.how}" for each in held.columns if each not in masks.columns]
    gone += [table for table in held.tables if table not in masks.tables]
    if not gone and held.key in ("", masks.key):
        return
    what = f"masks {', '.join(gone)}" if gone else f"hashes with the key of fingerprint {held.key}"
    raise RefusedError(
        f"consumer {consumer} {what}, and this run does not",
        expected="the masks that it has, perhaps with others",
        found="none" if not masks else f"key {masks.key or 'none'}" if not gone else "others",
        remedy="Give the same masks and key again; for others begin with another consumer.",
    )
