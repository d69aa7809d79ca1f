"""The options of images: whole rows before and after each write. Part of the table."""

from __future__ import annotations

from typing import Final

from tailer.options import kinds
from tailer.options.declared import Option

_PANEL: Final = "Images"
_FOLLOW: Final = ("follow",)
_ROWS: Final = ("follow", "stream")
_IMAGES: Final = ("images",)
_COMPARE: Final = ("compare",)

IMAGES: Final = (
    Option(
        "image", kinds.word("after", "both"), "Whole rows, each write once, instead of rows of the log: the row as it "
        "is after each change, or before it too. `follow` needs --consumer, but for --once.", _PANEL, None, "image",
        _ROWS,
        python=True,
        more="[whole rows](images.md), each write once, instead of rows of the log: the row `after` each change, or "
        "`both`, before it too",
    ),
    Option(
        "image_state", kinds.FOLDER, "With --image: where the rows are kept. Default: images/CONSUMER in the state "
        "folder of the first node that has its log here.", _PANEL, None, "image-state", (*_FOLLOW, *_IMAGES, *_COMPARE),
        python=True,
        more="with `image`: the folder in which the rows are kept",
    ),
    Option(
        "tokens", kinds.TOKENS, "With --image: only partitions whose tokens are in this range, both ends included; so "
        "several processes share a cluster.", _PANEL, None, "tokens", _FOLLOW, python=True,
        more="with `image`: only partitions whose tokens are in this range, as `-9223372036854775808..0`",
    ),
    Option(
        "no_expirations", kinds.FLAG, "With --image: what a TTL ends gives no images.", _PANEL, False,
        "no-expirations", _ROWS, python=True, more="with `image`: what a TTL ends gives no images",
    ),
    Option(
        "gc_grace", kinds.TIME, "With --image: how long a deletion is remembered. Default: each table's "
        "gc_grace_seconds, as log, schema file or server tell it, 10d where none does.",
        _PANEL, None, "gc-grace", _FOLLOW, python=True,
        more="with `image`: seconds for which a deletion is remembered; not given: each table's own `gc_grace_seconds`",
    ),
    Option("of_table", kinds.TABLE, "With --key: the table of the row that is asked for.", None, None, "table", _IMAGES,
           alone=True),
    Option("key", kinds.TEXT, "The row that is asked for, as JSON of its key's columns; of the partition key alone for "
           "the static row.", None, None, "key", _IMAGES, alone=True),
    Option("of_table", kinds.TABLE, "The table.", None, None, "table", _COMPARE, alone=True),
    Option("settle", kinds.SECONDS, "How long after the first look what differs is looked at again: longer than a row "
           "takes from the server to the images.", None, 30.0, "settle", _COMPARE, alone=True),
    Option("mend", kinds.FLAG, "Have the rows that differ read again from the server, by the running `follow --image` "
           "with --server, or by its next start.", None, False, "mend", _COMPARE, alone=True),
)  # fmt: skip
