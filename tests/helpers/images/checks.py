"""One entry's images held to what the ledger says must come of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.helpers.images.ledger import Expected, Shown, Unit
from tests.helpers.images.logged import Entry
from tests.helpers.images.seen import ROWLESS, is_row, key_of, row_of, values_of
from tests.helpers.images.tables import STATIC, Key


def check_expired(images: Sequence[Any], units: Sequence[Unit]) -> None:
    """Images of what ran out: they name no entry."""
    for image in images:
        assert (image.node, image.segment, image.offset, image.row, image.event_id) == (None,) * 5, image
        assert image.write_ts is None, image
        assert image.op in ("expire", "update"), image
    found = _by_row(images)
    expected = {(unit.k, key): told for unit in units for key, told in unit.expired.items()}
    _each_once(found, expected)
    for row, image in found.items():
        after = expected[row].after
        assert image.op == "update" if after.there else image.op == "expire" or after.there is None, image
        check_after(image, expected[row].after)


def check_entry(images: Sequence[Any], entry: Entry, units: Sequence[Unit]) -> None:
    """Images that an entry caused."""
    for image in images:
        assert (image.node, image.segment, image.offset) == (entry.node, entry.segment, entry.offset), image
        assert image.event_id == f"{entry.node}:{entry.segment}:{entry.offset}:{image.row}", image
    found = _by_row([image for image in images if is_row(image)])
    expected = {(unit.k, key): told for unit in units for key, told in unit.rows.items()}
    _each_once(found, expected)
    for row, image in found.items():
        check_op(image, expected[row], truncates=entry.truncates)
        check_after(image, expected[row].after)
        assert entry.truncates or image.write_ts in expected[row].stamps, (image, expected[row].stamps)
    for unit in units:
        _check_rowless([i for i in images if i.op in ROWLESS and row_of(i)[0] == unit.k], unit)


def check_dropped(images: Sequence[Any], units: Sequence[Unit]) -> None:
    """Rows that lived by a dropped column go; of others an image may tell."""
    found = _by_row([image for image in images if is_row(image)])
    for unit in units:
        for key, told in unit.rows.items():
            if told.before.there and not told.after.there:
                assert (unit.k, key) in found, f"no image: {unit.k} {key} lived by a dropped column"
    expected = {(unit.k, key): told for unit in units for key, told in unit.rows.items()}
    for row, image in found.items():
        check_after(image, expected[row].after)


def _by_row(images: Sequence[Any]) -> dict[tuple[int, Key], Any]:
    found: dict[tuple[int, Key], Any] = {}
    for image in images:
        assert row_of(image) not in found, f"a second image of one row: {image}"
        found[row_of(image)] = image
    return found


def _each_once(found: dict[tuple[int, Key], Any], expected: dict[tuple[int, Key], Expected]) -> None:
    for row, image in found.items():
        assert row in expected, f"an image of a row that nothing was said of: {image}"
        assert expected[row].may, f"an image though nothing took effect: {image}"
    for row, told in expected.items():
        assert row in found or not told.must, f"no image of {row}, which was {told.before} and is {told.after}"


def _check_rowless(images: Sequence[Any], unit: Unit) -> None:
    kinds = {"delete_range": "range", "delete_partition": "partition"}
    told = sorted((kinds[image.op], image.write_ts) for image in images)
    for image in images:
        assert image.before is None, image
        assert image.after is None, image
    may, must = ([(fact.kind, fact.ts) for fact in facts] for facts in (unit.rowless_may, unit.rowless))
    for one in told:
        assert one in may, f"{one} took no effect, or its partition was complete"
        may.remove(one)
    for one in must:
        assert one in told, f"no image of {one}, which took effect in a partition that is not complete"


def check_op(image: Any, told: Expected, *, truncates: bool) -> None:
    if truncates and not told.after.there and not any(told.after.values.values()):
        # Of a row that is not known whole a column that is known to be null may be shown again.
        assert image.op == ("delete" if image.after is None else "update"), (image, told)
        return
    assert image.op in _ops(told), (image, told)


def _ops(told: Expected) -> tuple[str, ...]:
    before, after = told.before, told.after
    if after.there:
        if before.there:
            return ("update",)
        return ("insert",) if before.there is False else ("upsert",)
    if after.there is False or told.deletes:
        return ("delete",)
    # A row that is not known whole and was deleted once: that it is not there may count as known.
    return ("update", "delete") if told.deleted or before.there else ("update",)


def check_after(image: Any, shown: Shown) -> None:
    """The row after, as far as it is known."""
    if image.complete:
        assert shown.complete, f"known whole, though it began before the reading did: {image}"
        assert (image.after is None) == (not shown.there), (image, shown)
        assert image.after is None or values_of(image.after) == shown.values, (image, shown)
    else:
        assert not shown.complete, f"not known whole, though all of it was read: {image}"
        assert shown.there is None or (image.after is None) == (not shown.there), (image, shown)
        if image.after is not None:
            check_known(values_of(image.after), shown)
    if image.after is not None:
        k, key = row_of(image)
        names = ("k",) if key == STATIC else ("k", "x", "y")
        assert key_of(image.after) == dict(zip(names, (k, *(() if key == STATIC else key)), strict=False)), image


def check_known(values: dict[str, Any], shown: Shown) -> None:
    """Of a row that is not complete: what facts tell of is there and right; anything else is absent, or known null."""
    for name, value in shown.values.items():
        assert name in values, (name, values, shown)
        assert values[name] == value, (name, values, shown)
    more = {name: value for name, value in values.items() if name not in shown.values}
    assert not any(value is not None for value in more.values()), (values, shown)
