"""`cdc-tail demo`: changes arriving in a Spark query, without a Cassandra. Parses options, runs `tailer.demo.show`."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command(epilog="Example: cdc-tail demo")
def demo(
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="N",
            min=0,
            help="How long the replay takes. Default: up to 25, less where Spark is slow.",
        ),
    ] = None,
) -> None:
    """Replay a recorded server's log while a Spark query follows it; ends by itself in under two minutes."""
    from tailer.demo.show import run_demo
    from tailer.sink.pretty import wants_colour

    stream = sys.stdout.buffer
    run_demo(stream, colour=wants_colour(stream, os.environ), seconds=seconds)
