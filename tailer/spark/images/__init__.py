"""Images in Spark: the merge of `tailer.images` in Spark's own state, by `transformWithState`.

    changes --operator--> (table, bucket), rows --processor--> bucket --> Merger over MapStore --> images
                                                                             maps of bytes that Spark keeps

What merges and what is kept knows no Spark: `bucket`, `map_store` and what lies beneath them. Spark's calls are in
`processor` and `operator`.
"""

from tailer.spark.images.operator import SETTINGS, images

__all__ = ["SETTINGS", "images"]
