"""Tables of any width, declared by Structs, and values of them: what the code that is made for a class is tried on."""

from __future__ import annotations

import ipaddress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID, uuid1

import msgspec
from hypothesis import strategies as st

from writer_hooks import Cql, Table


class Item(msgspec.Struct):
    name: str
    price: Decimal | None = None


class Size(StrEnum):
    SMALL = "s"
    LARGE = "l"


class Colour(Enum):
    """Neither a text nor a number itself."""

    RED = -1
    BLUE = 2


class Kind(NamedTuple):
    """A field's type, and values of it."""

    hint: Any
    values: st.SearchStrategy[Any]


LONG = 2**63
KINDS = [
    Kind(int, st.integers(-LONG, LONG - 1)),
    Kind(Annotated[int, Cql("tinyint")], st.integers(-128, 127)),
    Kind(Annotated[int, Cql("smallint")], st.integers(-(2**15), 2**15 - 1)),
    Kind(Annotated[int, Cql("int")], st.integers(-(2**31), 2**31 - 1)),
    Kind(Annotated[int, Cql("varint")], st.integers()),
    Kind(float, st.floats()),
    Kind(Annotated[float, Cql("float")], st.floats(width=32)),
    Kind(bool, st.booleans()),
    Kind(str, st.text() | st.text(min_size=240, max_size=280)),
    Kind(Annotated[str, Cql("ascii")], st.text(st.characters(max_codepoint=127))),
    Kind(bytes, st.binary() | st.sampled_from([bytes(255), bytes(256), bytes(65535)])),
    Kind(Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    Kind(UUID, st.uuids()),
    Kind(Annotated[UUID, Cql("timeuuid")], st.just(uuid1())),
    Kind(datetime, st.datetimes().map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC))),
    Kind(date, st.dates()),
    Kind(time, st.times()),
    Kind(timedelta, st.timedeltas(min_value=timedelta(days=-9999), max_value=timedelta(days=9999))),
    Kind(ipaddress.IPv6Address, st.ip_addresses()),
    Kind(list[int], st.lists(st.integers(-9, 9), max_size=60)),
    Kind(dict[str, float], st.dictionaries(st.text(max_size=3), st.floats(), max_size=4)),
    Kind(tuple[str, int], st.tuples(st.text(max_size=3), st.integers(-9, 9))),
    Kind(Item, st.builds(Item, st.text(max_size=3), st.none() | st.decimals(allow_nan=False, allow_infinity=False))),
    Kind(list[Item], st.lists(st.builds(Item, st.text(max_size=3)), max_size=3)),
    Kind(Size, st.sampled_from(Size)),
    Kind(Annotated[Colour, Cql("smallint")], st.sampled_from(Colour)),
    Kind(dict[Size, list[Colour]], st.dictionaries(st.sampled_from(Size), st.lists(st.sampled_from(Colour)))),
    Kind(Literal["'", '"'], st.sampled_from(["'", '"'])),
    Kind(Annotated[list[float], Cql("vector<float, 2>")], st.lists(st.floats(width=32), min_size=2, max_size=2)),
]
WRONG = st.one_of(
    st.none(), st.just(msgspec.UNSET), st.just(object), st.text(max_size=3), st.integers(), st.floats(), st.binary()
)


class Row(NamedTuple):
    """A table, and a value of the Struct that declares it."""

    table: Table
    value: msgspec.Struct


@st.composite
def rows(draw: Any, wrong: bool = False) -> Row:
    """Tables of any width and key. `wrong`: a value may be one that no such column has."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=40))
    keys, clustering = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    names = [f"f{number}" for number in range(len(kinds))]
    fields: list[Any] = []
    values: dict[str, Any] = {}
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        hint, value = kind.hint, kind.values
        if number >= keys + clustering and draw(st.booleans()):
            loose = draw(st.sampled_from([None, msgspec.UnsetType, None | msgspec.UnsetType]))
            hint |= loose
            none, unset = loose is not msgspec.UnsetType, loose is not None
            value = value | (st.none() if none else st.nothing()) | (st.just(msgspec.UNSET) if unset else st.nothing())
        fields.append((name, hint))
        values[name] = draw(value)
    if wrong:
        values[draw(st.sampled_from(names))] = draw(WRONG)
    struct = msgspec.defstruct("Generated", fields, module=__name__)
    table = Table.of(struct, "ks.generated", key=names[:keys], clustering=names[keys : keys + clustering])
    return Row(table, struct(**values))
