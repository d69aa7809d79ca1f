"""Which form makes rows, the generic or a typed one, and by which twin: the compiled one where it is loaded and there
is enough to do, else the plain one. Knows no payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from tailer.jit.ready import twin_now
from tailer.rows.batch import Batch
from tailer.rows.explain import Misfit
from tailer.rows.generic.build import ValueFault
from tailer.rows.generic.build import build as plain
from tailer.rows.place import Place
from tailer.rows.prepared import Prepared
from tailer.scan.index import Index
from tailer.schema.typed import TypedTable

if TYPE_CHECKING:
    from tailer.rows.typed.batch import TypedBatch
    from tailer.rows.widened import WidenedBatch

AnyBatch: TypeAlias = "Batch | TypedBatch | WidenedBatch"
"""Rows in the generic form or in a typed one, as made or with more columns behind."""

SMALL_LINES: Final = 16
SMALL_BYTES: Final = 8 * 1024
"""The plain twin is done with fewer lines before the compiled one has begun, if their values have fewer bytes too."""

_GENERIC: Final = "tailer.rows.generic.compiled.build"
_TYPED: Final = "tailer.rows.typed.compiled.fast"
_ONE_ROW: Final = "tailer.rows.typed.compiled.one_row"

_NOTHING: Final[Mapping[str, int]] = MappingProxyType({})


class Made(NamedTuple):
    """The rows of a scan in log order, whatever their form; see `generic.build.Built` and `typed.batch.TypedBuilt`."""

    batch: AnyBatch
    faults: list[ValueFault]
    misfit: Misfit | None = None
    ignored: Mapping[str, int] = _NOTHING


@dataclass(frozen=True, slots=True)
class Decoded:
    """What entries gave, up to the first that does not decode: `index.stopped` says where and why.

    `data`: what the offsets of `index` count in. `number`: the next row's of a transaction, else 0. Where rows are
    typed, lines may be missing from the index of rows that are there.
    """

    index: Index
    data: bytes
    made: Made
    number: int = 0


def build_rows(index: Index, data: bytes, prepared: Prepared, place: Place, typed: TypedTable | None) -> Made:
    """The rows of the delivered tables in `index`, a scan of `data` with `prepared.scan_tables`."""
    enough = len(index.rows) >= SMALL_LINES or int(index.cells["value_len"].sum()) >= SMALL_BYTES
    if typed is None:
        twin = twin_now(_GENERIC, enough)
        build = plain if twin is None else twin.build
        return Made(*build(index, data, prepared, place))
    # Only who asked for a typed form needs pyarrow.
    from tailer.rows.typed.form import form_of
    from tailer.rows.typed.plain import build_plain

    twin = twin_now(_TYPED, enough)
    build_typed = build_plain if twin is None else twin.build_fast
    return Made(*build_typed(index, data, prepared, place, form_of(typed)))


def one_row_now(name: str, entries: int, typed: TypedTable | None, prepared: Prepared) -> Callable[..., Any] | None:
    """The function that scans so many entries and makes their typed rows in one, `name` of `typed.compiled.one_row`, if
    it is ready and worth it. It gives None where it cannot do these: then they are scanned and built.

    Nothing that has masks is done in one: they are between the two.
    """
    twin = None if typed is None or prepared.masked else twin_now(_ONE_ROW, entries >= SMALL_LINES)
    if twin is None or typed is None:
        return None
    from tailer.rows.typed.form import form_of

    return partial(getattr(twin, name), form=form_of(typed))
