"""What the limit of a log takes from a consumer that has not read anything yet is a loss like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

import tailer
from tailer.errors import LossError
from tailer.options.tail import TailOptions
from tailer.tail.node_log import node_log
from tailer.tail.open import open_tail
from tests.native.kept_log import Service, ids
from writer_hooks import Cap


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Consumer `c` was registered before its limit took the first segments."""
    made = Service(tmp_path, cap=Cap(12_000, "drop_oldest"))
    made.append(("insert", 1, "n" * 700))
    options, first = TailOptions(consumer="c"), ids(made.raw)[0]
    with open_tail(node_log(made.raw, options), options):
        pass
    for number in range(2, 60):
        made.append(("insert", number, "n" * 700))
    assert int((made.raw / "DROPPED").read_text()) >= first
    return made


def test_it_is_told_to_who_was_there(service: Service) -> None:
    with pytest.raises(LossError, match="none was read; the first position not read is") as raised:
        list(tailer.open(service.raw, consumer="c").follow(once=True))
    assert raised.value.at is not None
    assert raised.value.at.segment < ids(service.raw)[0]
    # Who comes now was promised nothing of it.
    assert list(tailer.open(service.raw, consumer="d").follow(once=True))


def test_who_accepts_it_goes_on_with_what_is_there(service: Service) -> None:
    batches = tailer.open(service.raw, consumer="c", accept_loss=True).follow(once=True)
    found = [row["partition_key"] for batch in batches for row in batch.to_pylist()]
    assert found[-1] == '{"number":59}'
    assert list(tailer.open(service.raw, consumer="c").follow(once=True)) == []
