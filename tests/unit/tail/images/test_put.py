"""What is put into the state while something else is given: in order, none past one that failed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tailer.errors import SinkError
from tailer.image_state.file import ImageFile
from tailer.image_state.one_transaction import ImageBatch, Transaction
from tailer.images import Image
from tailer.tail.images.merging import Merging
from tailer.tail.images.stream import Give, ImageStream

WAIT_SECONDS = 20


def image(number: int) -> Image:
    key, after = f'{{"id":{number}}}', f'{{"id":{number},"v":1}}'
    return Image(
        "ks", "t", "0" * 36, number, key, None, False, None, "upsert", None, after, ("v",), 5, number, None,
        True, None, None, None, None, f"e:{number}",
    )  # fmt: skip


def one(number: int) -> list[Image]:
    return [image(number)]


@contextmanager
def opened(folder: Path, give: Give) -> Iterator[ImageStream]:
    stream = ImageStream(ImageFile(folder), "c", ["n1"], give)
    stream.open()
    yield stream
    stream.close()


def put(stream: ImageStream, number: int) -> None:
    def work(transaction: Transaction, merging: Merging) -> list[Image]:
        return one(number)

    stream.put(work)


def test_in_the_order_in_which_it_was_put(tmp_path: Path) -> None:
    given: list[int] = []

    def give(batch: ImageBatch) -> bool:
        given.append(batch.number)
        return True

    with opened(tmp_path, give) as stream:
        put(stream, 1)
        put(stream, 2)
        assert given == []
        stream.give_ready()
    assert given == [1, 2]


def test_not_past_one_that_failed(tmp_path: Path) -> None:
    given: list[int] = []

    def give(batch: ImageBatch) -> bool:
        given.append(batch.number)
        if given == [1]:
            raise SinkError("no room")
        return True

    with opened(tmp_path, give) as stream:
        put(stream, 1)
        with pytest.raises(SinkError):
            stream.give_ready()
        put(stream, 2)
        stream.give_ready()
    assert given == [1, 1, 2]


def test_giving_does_not_hold_up_who_puts(tmp_path: Path) -> None:
    inside, on = threading.Event(), threading.Event()

    def give(batch: ImageBatch) -> bool:
        inside.set()
        return on.wait(WAIT_SECONDS)

    with opened(tmp_path, give) as stream:
        put(stream, 1)
        giving = threading.Thread(target=stream.give_ready)
        giving.start()
        assert inside.wait(WAIT_SECONDS)
        put(stream, 2)
        assert stream.outbox.last == 2
        on.set()
        giving.join()
