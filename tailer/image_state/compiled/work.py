"""The blocks of numbers that the compiled merge works on: what stands where. Places are addresses. Knows no rule."""

from __future__ import annotations

from typing import Final

from tailer.types.compiled.plan import WORD

# The block. What is read: the data, its index, the tables; the change rows by column; of which node and segment.
(
    DATA, WRITER, LINES, UPDATES, VALUES, CELL_LINES, TABLES, FIXED, FIXED_ROOM, ROWS, PARTITION_OF,
    KEY_TEXT, KEY_ENDS, CLUSTERING_TEXT, CLUSTERING_ENDS,
    NODE, SEGMENT, NAME, NAME_LENGTH, EVENT, EVENT_LENGTH, NOW, SECOND, READ_PAST, EXPIRES,
    # What is made: operations, by partition and by slot what is known; keys; images.
    OPS, OP_COUNT, PARTITIONS, SLOTS, KEYS, KEYS_END, IMAGES, IMAGE_COUNT,
    # Where bytes go: rows to keep, encoded images, texts on their way there.
    NEXT_OP, STATE, STATE_LIMIT, OUT, OUT_LIMIT, TEXT, TEXT_LIMIT,
    # The row at hand: its stored numbers, its facts and theirs, what is told, what is seen, what deletes it from above.
    GONE, COMPLETE, HAS_DUE, DUE, PLACED, AGED, CLUSTERING, CLUSTERING_LENGTH, FACTS, FACT_COUNT, SETS, SET_COUNT,
    TOLD, TOLD_COUNT, ORDER, BEFORE, AFTER, ROW_CLUSTERING, UNIT,
    ABOVE, ABOVE_COUNT, ABOVE_SETS, ELEMENTS, ELEMENT_COUNT, PATHS,
    # Of rows that a server has; see `served`.
    SERVED,
    SIZE,
) = range(67)  # fmt: skip

# An operation: one line of the index, and its first change row.
O_ROW, O_LINE, O_TABLE, O_PARTITION, O_UNIT, O_SLOT, O_KEY, O_KEY_END = range(8)
OP_WIDTH: Final = 8
OP_BYTES: Final = OP_WIDTH * WORD

# A partition of the batch. P_LEFT: it is for the plain merge; P_NEWS: it has what the state does not know; P_COVERED:
# its rows are known whole by a snapshot.
P_LEFT, P_NEWS, P_SLOT, P_KEY, P_KEY_END, P_UNIT, P_OFFSET, P_ROW_KEY, P_ROW_KEY_END, P_LATE, P_COVERED = range(11)
PARTITION_WIDTH: Final = 11
PARTITION_BYTES: Final = PARTITION_WIDTH * WORD

# A row of the state, or a header: where its bytes are now, whether they are others than in the store, what is due.
S_AT, S_LENGTH, S_CHANGED, S_HAS_DUE, S_DUE = range(5)
SLOT_WIDTH: Final = 5
SLOT_BYTES: Final = SLOT_WIDTH * WORD

# An image: of which unit and partition, and where it is.
I_UNIT, I_PARTITION, I_BEGIN, I_END = range(4)
IMAGE_WIDTH: Final = 4
IMAGE_BYTES: Final = IMAGE_WIDTH * WORD

# A table. T_HEAD: what its images begin with; T_FLOOR: what is of that time or older may be void.
(
    T_READY, T_ID, T_KEY, T_KEY_COUNT, T_CLUSTERING, T_CLUSTERING_COUNT, T_COLUMNS, T_REGULAR, T_REGULAR_COUNT,
    T_HEAD, T_HEAD_LENGTH, T_WHOLE, T_EPOCH, T_SINCE, T_LATE_BEFORE, T_FLOOR, T_NAMES_LENGTH, T_WIDTH,
) = range(18)  # fmt: skip
TABLE_BYTES: Final = T_WIDTH * WORD

# A column: a part of a type plan (type, label, length of the label), and these.
# C_SHAPE: how its cells are read (`rows.generic.compiled.tables`); C_PATH_*: of what names an element.
(
    C_TYPE, C_LABEL, C_LABEL_LENGTH, C_KIND, C_ORDER, C_DESC, C_READY, C_SHAPE, C_PATH_KIND, C_PATH_ORDER,
    C_WIDTH,
) = range(11)  # fmt: skip
COLUMN_BYTES: Final = C_WIDTH * WORD

# A fact.
(
    F_KIND, F_NAME, F_NAME_LENGTH, F_PATH, F_PATH_LENGTH, F_VALUE, F_VALUE_LENGTH, F_TS, F_HAS, F_TTL, F_EXPIRES,
    F_ARRIVAL, F_STATE, F_FOUND,
    F_MARKS_N, F_MARKS,
) = range(16)  # fmt: skip
MARK_WIDTH: Final = 3
MARKS_MAX: Final = 16
FACT_BYTES: Final = (F_MARKS + MARK_WIDTH * MARKS_MAX) * WORD
FACTS_MAX: Final = 256

# F_STATE.
VISIBLE: Final = 1
WAS_VISIBLE: Final = 2
NEW: Final = 4
KEPT: Final = 8

SET_BYTES: Final = (1 + MARK_WIDTH * MARKS_MAX) * WORD
SETS_MAX: Final = 64

# What is seen of a row: whether it lives, is complete, is shown; of each column whether it is known, and its value:
# where it is and how long, or, of one of many cells, where the numbers of its facts are and how many.
V_LIVES, V_COMPLETE, V_SHOWN, V_COLUMNS = range(4)
VALUE_WIDTH: Final = 3
UNKNOWN: Final = 0
NULL: Final = 1
VALUE: Final = 2
COLUMNS_MAX: Final = 512
VIEW_BYTES: Final = (V_COLUMNS + VALUE_WIDTH * COLUMNS_MAX) * WORD

# How values of a type are put in order (`types.order`).
NO_ORDER: Final = 0
SIGNED: Final = 1
UNSIGNED: Final = 2
BY_UUID: Final = 3
BY_TIMEUUID: Final = 4
REAL: Final = 5
