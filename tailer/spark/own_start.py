"""Where `startingOffsets=snapshot` begins: a service's own log with what its writer keeps, others with their servers.

Looks at the folders; knows no pyspark.
"""

from __future__ import annotations

from dataclasses import replace

from tailer.archive.service_log import begin_with_kept
from tailer.options.to_spark import SourceOptions


def begun(options: SourceOptions) -> SourceOptions:
    """The same options, of services' own logs without a snapshot. UsageError as `begin_with_kept`."""
    if not options.snapshots:
        return options
    tail = begin_with_kept(options.tail, [place for _, place in options.places])
    return options if tail is None else replace(options, tail=tail, snapshots=False)
