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
            help="How long the writing takes. Default: up to 25, less where Spark is slow.",
        ),
    ] = None,
    cassandra: Annotated[
        bool, typer.Option("--cassandra", help="Replay a recorded Cassandra server's log instead.")
    ] = False,
) -> None:
    """A service writes a log, is killed and recovers, while a Spark query follows it; ends in under two minutes."""
    from tailer.demo.show import SERVICE, cassandra_story, run_demo
    from tailer.sinks.pretty import wants_colour

    stream = sys.stdout.buffer
    story = cassandra_story() if cassandra else SERVICE
    run_demo(stream, story, colour=wants_colour(stream, os.environ), seconds=seconds)
