"""`cdc-tail quarantine`: lists what is in quarantine, shows one entry, gives the rows of what decodes by now.

Parses words; what decodes is decided in `tail/quarantined.py`, what was given before in `tail/quarantine_replay.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import typer

from tailer.cli.as_owner import as_state_owner
from tailer.cli.command import command
from tailer.cli.rows import Form, open_sink, output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import DIR, argument
from tailer.position import Position
from tailer.sinks.text import printable

if TYPE_CHECKING:
    from tailer.state.quarantine import Kept

TOLD_MAX: Final = 20
"""Of so many entries that stay the reasons are told one by one; `list` has all."""

app = typer.Typer(add_completion=False)


class Action(StrEnum):
    """What to do."""

    LIST = "list"
    SHOW = "show"
    REPLAY = "replay"


_ARGUMENTS: Final = {
    "folder": DIR,
    "action": argument(Action, "list, show SEGMENT:OFFSET, or replay."),
    "place": argument(str | None, "Of one entry, as `list` has it.", metavar="SEGMENT:OFFSET"),
}


class _Entry(NamedTuple):
    consumer: str | None
    record: Kept
    replayed: bool


@command(
    app,
    "quarantine",
    _ARGUMENTS,
    epilog="Examples: cdc-tail quarantine /var/lib/cassandra/cdc_raw list. Give the rows of what decodes by now: "
    "cdc-tail quarantine /var/lib/cassandra/cdc_raw replay --consumer billing --schema shop.cql",
)
def quarantine(
    folder: Path,
    state: Path | None,
    consumer: str | None,
    output: Form | None,
    values: dict[str, Any],
    action: Action = Action.LIST,
    place: str | None = None,
) -> None:
    """List the entries that could not be decoded; show one; or replay: give the rows of what decodes by now, once."""
    at = _place(action, place)
    from tailer.state.log_folder import log_state, state_folder

    if action is Action.REPLAY:
        if consumer is None:
            raise UsageError("quarantine replay", expected="--consumer NAME, whose rows these are", found="none")
        as_state_owner(folder, state_folder(folder, state))
        _replay(log_state(folder, state), consumer, output_form(output), values)
        return
    if output == "arrow":
        raise UsageError("--output arrow is for replay", expected="pretty or json", found="arrow")
    entries = _entries(log_state(folder, state), consumer)
    pretty = output_form(output) == "pretty"
    if at is None:
        _write(map(_line if pretty else _facts, entries))
    else:
        _show([each for each in entries if each.record.at == at], at, pretty=pretty)


def _place(action: Action, text: str | None) -> Position | None:
    """The place behind `show`, which alone has one."""
    position = None if text is None else Position.parse(text)
    if (action is Action.SHOW) != (text is not None) or (text is not None and position is None):
        wanted = "show SEGMENT:OFFSET" if action is Action.SHOW else str(action)
        raise UsageError("quarantine DIR", expected=wanted, found=f"{action} {text or ''}".strip())
    return position


def _entries(state: Path, consumer: str | None) -> Iterator[_Entry]:
    from tailer.state.folder_journal import FolderJournal
    from tailer.state.quarantine import quarantine_path, quarantined_consumers, whole_records
    from tailer.tail.quarantine_replay import replayed

    journal = FolderJournal(state, writable=False)
    for name in [consumer] if consumer is not None else quarantined_consumers(state):
        done = replayed(journal, name)
        for record in whole_records(quarantine_path(state, name)):
            yield _Entry(name, record, (record.node, record.at) in done)


def _line(entry: _Entry) -> str:
    record = entry.record
    whose = f"{entry.consumer or 'no consumer'} ({record.node})"
    done = " replayed" if entry.replayed else ""
    return printable(f"{record.at} {whose}, {len(record.bytes) // 2} bytes{done}: {record.reason}")


def _facts(entry: _Entry) -> str:
    record = entry.record
    facts = {
        "consumer": entry.consumer,
        "node": record.node,
        "segment": record.segment,
        "offset": record.offset,
        "file": record.file,
        "size": len(record.bytes) // 2,
        "code": record.code,
        "reason": record.reason,
        "replayed": entry.replayed,
    }
    return msgspec.json.encode(facts).decode()


def _show(entries: list[_Entry], at: Position, *, pretty: bool) -> None:
    """An entry with its bytes. They are the log's own, in clear."""
    if not entries:
        raise UsageError(f"nothing in quarantine stands at {at}", remedy="`quarantine DIR list` has what there is.")
    for entry in entries:
        if pretty:
            _write([_line(entry), *_hex(entry.record.bytes)])
        else:
            facts = msgspec.json.decode(_facts(entry))
            _write([msgspec.json.encode({**facts, "bytes": entry.record.bytes}).decode()])


def _hex(digits: str) -> Iterator[str]:
    for at in range(0, len(digits), 32):
        row = digits[at : at + 32]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in bytes.fromhex(row))
        yield f"{at // 2:08x}  {' '.join(row[n : n + 4] for n in range(0, len(row), 4)):<39}  {shown}"


def _replay(state: Path, consumer: str, form: Form, values: dict[str, Any]) -> None:
    from tailer.options.tail import tail_options
    from tailer.reading.counted_notices import CountedNotices
    from tailer.reading.replaced_texts import count_replaced
    from tailer.state.folder_journal import FolderJournal
    from tailer.tail.masked import kept_masks
    from tailer.tail.quarantine_replay import replay
    from tailer.tail.quarantined import KnownNow

    journal = FolderJournal(state, writable=False)
    masks = kept_masks(journal, consumer)
    known = KnownNow(journal, tail_options(values, program="cdc-tail quarantine"), masks, consumer)
    sink = open_sink(form, known.newest_of, late=True)
    done = replay(state, consumer, known, sink)
    sink.close()
    notices = CountedNotices()
    count_replaced(known.replaced, notices)
    for notice in notices.take(last=True):
        STANDARD_ERROR.notice(notice)
    for record, reason in done.stays[:TOLD_MAX]:
        STANDARD_ERROR.notice(f"warning: the entry at {record.at} ({record.node}) stays in quarantine: {reason}")
    if len(done.stays) > TOLD_MAX:
        STANDARD_ERROR.notice(f"warning: {len(done.stays) - TOLD_MAX} more entries stay in quarantine")
    STANDARD_ERROR.info(f"{done.entries} entries were replayed, with {done.rows} rows; {len(done.stays)} stay")


def _write(lines: Iterator[str] | list[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
