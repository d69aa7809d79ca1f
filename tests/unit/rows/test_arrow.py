"""Arrays made from buffers are those that pyarrow makes itself, and pandas is not imported for them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.rows.arrow import array

VALUES: list[tuple[Any, Any]] = [
    (pa.string(), st.text()),
    (pa.bool_(), st.booleans()),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=["string", "bool", "int32", "int64"])
@pytest.mark.parametrize("nulls", [False, True])
@given(data=st.data())
def test_as_pyarrow_makes_them(kind: Any, values: Any, nulls: bool, data: st.DataObject) -> None:
    column = data.draw(st.lists(st.none() | values if nulls else values, max_size=40))
    made = array(column, kind)
    made.validate(full=True)
    assert made.equals(pa.array(column, kind))
    assert made.null_count == column.count(None)


def test_a_number_out_of_range_is_no_silent_wrap() -> None:
    with pytest.raises(OverflowError):
        array([2**31], pa.int32())
