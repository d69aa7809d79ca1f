"""The ops of row images: every consumer of images takes its list from here."""

from __future__ import annotations

from typing import Final, Literal, get_args

from tailer.errors import DefinitionError

Op = Literal[
    "insert", "update", "delete", "upsert", "expire", "read",
    "truncate", "schema", "drop", "delete_range", "delete_partition",
]  # fmt: skip
"""What happened to the row. `insert`: it was known not to exist; `upsert`: that was not known.

`read`: nothing of the row changed, but all of it is known now: a server confirmed it, or its table's CREATE was read.
"""

OPS: Final[tuple[Op, ...]] = get_args(Op)

OF_ONE_ROW: Final[tuple[Op, ...]] = ("insert", "update", "upsert", "delete", "expire", "read")
"""Images of several rows add nothing to these: each row that had an image gets one of its own."""

OF_SEVERAL_ROWS: Final[tuple[Op, ...]] = tuple(op for op in OPS if op not in OF_ONE_ROW)


def check_op(op: str) -> None:
    """DefinitionError for an op that this version does not know: its image must not be left out."""
    if op not in OPS:
        raise DefinitionError(
            "a row image has an op that this version does not know",
            expected=", ".join(OPS),
            found=repr(op),
            remedy="Upgrade the program that reads these images to the version that wrote them.",
        )
