"""`cdc-tail snapshot`: tables as their server has them, into what `follow --image` keeps. Chooses options alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from tailer.cli.command import command
from tailer.cli.follow import run_follow
from tailer.cli.rows import Form
from tailer.cli.standard_error import STANDARD_ERROR
from tailer.errors import UsageError
from tailer.options.to_terminal import DIRS

app = typer.Typer(add_completion=False)


@command(
    app,
    "snapshot",
    {"folder": DIRS},
    epilog="Example: cdc-tail snapshot /var/lib/cassandra/cdc_raw --server 127.0.0.1 --table shop.orders "
    "--consumer orders",
)
def snapshot(folder: str, output: Form | None, to: str | None, values: dict[str, Any]) -> None:
    """Read tables from their server: whole rows, each once; `follow --image` goes on with their changes."""
    from tailer.cli.images import state_of
    from tailer.image_state.folder import InUseError
    from tailer.image_state.library import check_library
    from tailer.options.kinds import CommitEvery
    from tailer.options.snapshot import FROM

    check_library()

    if values["consumer"] is None:
        raise UsageError(
            "whose snapshot?",
            remedy="Name who goes on with it: --consumer NAME, and follow with the same name afterwards.",
        )
    chosen = {"once": True, "start": FROM, "anew": True, "until": None, "image": values["image"] or "after"}
    alone = {"on_node_lost": "fail", "metrics": None, "cap": None}
    try:
        run_follow(folder, True, CommitEvery("batch"), output, to, {**values, **chosen, **alone})
    except InUseError:
        _ask(state_of(folder, values["consumer"], values["state"], values["image_state"]), values["tables"])


def _ask(where: Path, tables: tuple[str, ...]) -> None:
    """Of the process that follows: its images go where they go."""
    from tailer.cli.progress import snapshot_bars
    from tailer.cli.snapshot_asked import snapshot_elsewhere
    from tailer.tail.snapshot.run import sentence_of

    STANDARD_ERROR.info("another process follows under this name: it reads the snapshot, and has its images")
    with snapshot_bars() as show:
        found = snapshot_elsewhere(where, tables, show or (lambda now: None))
    for each in found:
        STANDARD_ERROR.info(sentence_of(each))
