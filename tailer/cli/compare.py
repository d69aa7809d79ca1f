"""`cdc-tail compare`: is what images know of a table what its server says now? Reads both, also beside a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from tailer.cli.command import command
from tailer.cli.rows import output_form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.definitions.durability import never_in_the_log
from tailer.errors import HeldBackError, UsageError
from tailer.options.to_terminal import DIRS
from tailer.sinks.text import aligned, printable

if TYPE_CHECKING:
    from tailer.comparing.run import Compared, Told

app = typer.Typer(add_completion=False)


@command(
    app,
    "compare",
    {"folder": DIRS},
    epilog="Example: cdc-tail compare /var/lib/cassandra/cdc_raw --consumer orders --table shop.orders "
    "--server 127.0.0.1",
)
def compare(folder: str | None, values: dict[str, Any]) -> None:
    """Whether what `follow --image` keeps of a table is what the server says now: exit 9 names what differs."""
    from tailer.cli.images import state_of, write_lines
    from tailer.definitions.outside import server_of
    from tailer.image_state.library import check_library
    from tailer.options.tail import tail_options

    check_library()
    where = state_of(folder, values["consumer"], values["state"], values["image_state"])
    server = server_of(tail_options(values))
    if values["of_table"] is None or server is None:
        raise UsageError(
            "what is compared with what?", remedy="Name the table and the server: --table KS.TABLE --server HOST."
        )
    from tailer.comparing.run import compare as compared

    made = compared(where, server, values["of_table"], values["consistency"], values["settle"])
    pretty = output_form(values["output"]) == "pretty"
    write_lines(_lines(made) if pretty else [msgspec.json.encode(each).decode() for each in made.differences])
    if values["mend"] and made.rows:
        from tailer.image_state.mend_requests import leave

        leave(where, made.table_id, made.rows)
        STANDARD_ERROR.info(f"{len(made.rows)} rows are to be read again by `follow --image … --server …`")
    _end(made, where)


def _end(made: Compared, where: Path) -> None:
    """The last sentences; HeldBackError where the two differ."""
    result = made.result
    _tell_replaced(made)
    if not made.durable:
        STANDARD_ERROR.info(f"warning: {never_in_the_log(made.table)}")
    read = f"{made.table}: {result.rows} rows in {result.partitions} partitions, {made.seconds:.1f} s"
    more = f"; {result.unknown} rows of which images know nothing" if result.unknown else ""
    more += f"; {result.undecided} partitions changed between all looks" if result.undecided else ""
    more += "; too many differ: the rest was not read" if result.stopped else ""
    if not made.differences:
        STANDARD_ERROR.info(f"{read}: no difference{more}")
        return
    raise HeldBackError(
        f"{read}: {len(made.differences)} differences{more}",
        file=str(where),
        remedy="" if made.moved else "Nothing was merged meanwhile: is `follow --image` running?",
    )


def _tell_replaced(made: Compared) -> None:
    from tailer.reading.counted_notices import CountedNotices
    from tailer.reading.replaced_texts import count_replaced

    notices = CountedNotices()
    count_replaced(made.replaced, notices)
    for notice in notices.take(last=True):
        STANDARD_ERROR.notice(notice)


def _lines(made: Compared) -> list[str]:
    rows = [_cells(each) for each in made.differences]
    return aligned([["", "row", "column", "images", "server"], *rows]) if rows else []


def _cells(each: Told) -> list[str]:
    row = _text(each.partition_key) + ("" if each.clustering is None else " " + _text(each.clustering))
    what = {"missing": "not in images", "surplus": "not on the server", "value": "differs"}[each.kind]
    return [what, row, printable(each.column or ""), _text(each.images), _text(each.server)]


def _text(value: msgspec.Raw | None) -> str:
    return "" if value is None else printable(bytes(value).decode())
