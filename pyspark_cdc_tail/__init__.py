"""Lets Spark find the data source `cdc_tail` without registration: it imports every top-level `pyspark_*` package and
takes the `DefaultSource` that is in it.
"""

from contextlib import suppress

# An import that raises here would break *every* Python data source of the session. Where Spark's interpreter lacks what
# cdc-tail needs, this one alone stays unknown.
with suppress(ImportError):
    from tailer.spark.source import CdcTailSource as DefaultSource

__all__ = ["DefaultSource"]
