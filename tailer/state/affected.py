"""Which consumers a journal record affects: by what its kind states (`Affects`), and the consumer that it names."""

from __future__ import annotations

from tailer.state.journal_records import Affects, AnyRecord


def consumer_of(record: AnyRecord) -> str | None:
    """The consumer that a record names."""
    name: str | None = getattr(record, "consumer", None)
    return name


def affects_all(record: AnyRecord) -> bool:
    """Whether a record affects every consumer."""
    return record.affects is Affects.ALL or (record.affects is Affects.NAMED_OR_ALL and consumer_of(record) is None)


def affects(record: AnyRecord, consumer: str | None) -> bool:
    """Whether a record affects a consumer; None: a run without one."""
    return affects_all(record) or consumer_of(record) == consumer
