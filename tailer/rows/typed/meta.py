"""What stands behind a table's own columns in typed rows, for straight rows: a column at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tailer.jit.addresses import address_of
from tailer.rows.place import Place
from tailer.rows.typed.arrays import bool_array, fixed_array, list_array, number_array, text_array
from tailer.rows.typed.chosen import chosen_texts
from tailer.rows.typed.compiled.events import NUMBERS_MAX, put_event_ids
from tailer.rows.typed.compiled.straight import DELETE_ROW
from tailer.rows.typed.compiled.straight_rows import StraightRows
from tailer.rows.typed.form import Form
from tailer.scan.index import NO_TTL
from tailer.schema.typed import META

OP_NAMES: Final = ("insert", "update", "delete_row", "delete_partition", "delete_range")
"""By the operation of a straight row."""


def meta_arrays(
    form: Form, table_id: str, place: Place, straight: StraightRows, texts: Mapping[str, pa.Array]
) -> list[pa.Array]:
    """The columns behind the table's own, in order. `texts`: those that `texts.row_texts` makes."""
    made = _varying(form, straight) | _of_records(place, straight)
    made |= {
        **texts,
        "table_id": table_id,
        "node": place.node,
        "segment": place.segment,
        "event_id": _event_ids(place, straight),
    }
    arrays: list[pa.Array] = []
    for name, field in zip(META, form.meta_fields, strict=True):
        value = made.get(name)
        if not isinstance(value, pa.Array):
            value = form.repeated.array(field.name, field.type, value, straight.rows)
        arrays.append(value)
    return arrays


def _of_records(place: Place, straight: StraightRows) -> dict[str, pa.Array]:
    """What the rows of a native log have: not kept like other repeated values, for each transaction is another."""
    made: dict[str, pa.Array] = {}
    if isinstance(place.txn, Mapping):
        made["txn"] = pa.array([place.txn.get(offset) for offset in straight.offset.tolist()], pa.string())
    elif place.txn is not None:
        made["txn"] = pa.array([place.txn], pa.string()).take(pa.array(np.zeros(straight.rows, np.int8)))
    if place.attrs:
        texts = pa.array([place.attrs.get(entry) for entry in straight.entry.tolist()], pa.string())
        made["attrs"] = texts
    return made


def _varying(form: Form, straight: StraightRows) -> dict[str, Any]:
    """Arrays of those that are not one value in all rows, and values that are not null of the others."""
    ops = straight.ops
    made: dict[str, Any] = {
        "op": chosen_texts("_op", OP_NAMES, straight.op.astype(np.int32))
        if ops & (ops - 1)
        else OP_NAMES[ops.bit_length() - 1],
        "set": _sets(form, straight),
        "is_static": bool_array(straight.static, straight.static, straight.rows) if straight.has_static else False,
        "write_ts": number_array(pa.int64(), straight.ts),
        "token": number_array(pa.int64(), straight.token),
        "offset": number_array(pa.int64(), straight.offset),
        "row": number_array(pa.int64(), straight.number) if straight.has_number else 0,
    }
    if straight.has_ttl:
        valid = (straight.ttl != NO_TTL).view(np.uint8)
        count = int(np.count_nonzero(valid))
        made["ttl"] = fixed_array(pa.int32(), straight.ttl, valid, count)
        made["expires_at"] = fixed_array(pa.int64(), straight.expires, valid, count)
    return made


def _sets(form: Form, straight: StraightRows) -> pa.Array | tuple[str, ...] | None:
    """Names of the columns that each row sets, in the order of its cells; null for deletions."""
    names = tuple(column.name for column in form.columns)
    if not straight.mixed and not straight.ops >> DELETE_ROW:
        return tuple(names[slot] for slot in straight.sets[: straight.ends[1]])
    valid = (straight.op < DELETE_ROW).view(np.uint8)
    elements = chosen_texts("_set", names, straight.sets)
    return list_array(pa.list_(pa.string()), straight.ends, elements, valid, int(np.count_nonzero(valid)))


def _event_ids(place: Place, straight: StraightRows) -> pa.Array:
    text = f"{place.node}:{place.segment}:".encode()
    begin = np.frombuffer(bytearray(text + bytes(NUMBERS_MAX)), np.uint8)
    ends, letters = np.empty(straight.rows + 1, np.int32), np.empty(straight.rows * len(begin), np.uint8)
    addresses = map(address_of, (straight.offset, straight.number, ends, letters))
    total = put_event_ids(address_of(begin), len(text), straight.rows, *addresses)
    return text_array(pa.string(), ends, letters[:total], None, straight.rows)
