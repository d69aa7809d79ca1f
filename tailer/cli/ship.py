"""`cdc-tail ship`: the second process, which sends the data files of `follow --to files:DIR`. Parses options."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from tailer.cli.as_owner import as_owner
from tailer.cli.command import command
from tailer.cli.gently import gently
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import argument
from tailer.sinks.text import aligned, printable

app = typer.Typer(add_completion=False)

NAME: Final = "ship"
"""A shipper's name where none is given."""

_DIR: Final = argument(Path, "The data files: what `follow --to files:DIR` names.", metavar="DIR")


@command(
    app,
    "ship",
    {"folder": _DIR},
    epilog="Examples: cdc-tail ship /var/spool/changes --to https://collector.example/changes. Who ships there: "
    "cdc-tail ship /var/spool/changes --list",
)
def ship(
    folder: Path, consumer: str | None, once: bool, list_shippers: bool, drop: bool, values: dict[str, Any]
) -> None:
    """Send data files to where people have them, each once it is whole; remove what every shipper has sent."""
    if not folder.is_dir():
        raise UsageError("no folder of data files", file=str(folder), remedy="Make it: cdc-tail follow --to files:DIR.")
    name = consumer or NAME
    as_owner(folder)
    if list_shippers:
        sys.stdout.writelines(f"{printable(line)}\n" for line in _lines(folder))
    elif drop:
        from tailer.shipping.shippers import drop as forget

        forget(folder, name)
        STANDARD_ERROR.info(f"shipper {name} is forgotten; it holds no file back any more")
    else:
        _run(folder, name, once, {**values, "consumer": name})


def _run(folder: Path, name: str, once: bool, values: dict[str, Any]) -> None:
    from tailer.shipping.removal import Keeping
    from tailer.shipping.ship import Shipping
    from tailer.shipping.shippers import Shipper
    from tailer.shipping.targets import open_target
    from tailer.tail.patience import Patience

    say = STANDARD_ERROR.notice
    with gently() as stopping:
        target = open_target(values["to"], values, say)
        shipper = Shipper(folder, name, target.name)
        try:
            if shipper.before not in (None, target.name):
                say(f"shipper {name} goes on to {target.name}; until now it sent to {shipper.before}")
            patience = Patience(values["retry_for"], say, lambda: stopping[0], (shipper.away.tell,))
            keeping = Keeping(values["keep"], values["keep_for"] or 0)
            Shipping(shipper, target, keeping, patience, stopping=lambda: stopping[0]).run(once=once)
        finally:
            target.close()
            shipper.close()


def _lines(folder: Path) -> Iterator[str]:
    """One line for each shipper and node."""
    from tailer.shipping.shippers import away, registered, runs
    from tailer.sinks.files.series import series_in

    newest = {series.node: series.numbers()[-1] for series in series_in(folder)}
    rows = []
    for each in registered(folder):
        state = "runs" if runs(folder, each.name) else f"stopped, moved {time.time() - each.moved:.0f} s ago"
        if (note := away(folder, each.name)) is not None:
            state = f"runs, its target away for {time.time() - note.since:.0f} s"
        for node in sorted({*newest, *each.nodes}):
            sent = each.nodes.get(node)
            upto = "none sent" if sent is None else f"sent up to {sent.upto}"
            rows.append([each.name, node, f"{upto} of {newest.get(node, 0)}", state, each.to])
        if not newest and not each.nodes:
            rows.append([each.name, "-", "none sent", state, each.to])
    return iter(aligned(rows) or ["no shipper is registered"])
