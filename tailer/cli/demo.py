"""`cdc-tail demo`: changes arriving in a Spark query, without a Cassandra. Parses options, runs `tailer.demo.show`."""

from __future__ import annotations

import os
import sys

import typer

from tailer.cli.command import command

app = typer.Typer(add_completion=False)


@command(app, "demo", {}, epilog="Example: cdc-tail demo")
def demo(seconds: float | None, cassandra: bool) -> None:
    """A service writes a log, is killed and recovers, while a Spark query follows it; ends in under two minutes."""
    from tailer.demo.show import SERVICE, cassandra_story, run_demo
    from tailer.sinks.terminal import wants_colour

    stream = sys.stdout.buffer
    story = cassandra_story() if cassandra else SERVICE
    run_demo(stream, story, colour=wants_colour(stream, os.environ), seconds=seconds)
