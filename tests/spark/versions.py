"""What the installed Spark can do, for tests that run on the oldest and on the newest one."""

from __future__ import annotations

from importlib.metadata import version

SPARK = tuple(int(part) for part in version("pyspark").split(".")[:2])

ONE_BATCH = SPARK < (4, 2)
"""Trigger.AvailableNow is one batch: one that was not committed comes again, and what is new waits for the next run."""
