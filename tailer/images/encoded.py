"""Images as bytes, one behind the other: as they wait in a state to be taken. Compiled code writes and prints them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from tailer.images.image import Image
from tailer.jit.ready import twin_now
from tailer.versions import StateDecoder

if TYPE_CHECKING:
    from tailer.images.compiled.lines import Printed


class EncodedImages:
    """Images in order, not made into objects before somebody asks for them."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, images: Sequence[Image]) -> None:
        """Further images."""
        self.add_encoded(b"".join(map(_ENCODER.encode, images)), len(images))

    def add_encoded(self, data: bytes, count: int) -> None:
        """Further ones that are bytes already."""
        self._pieces.append(data)
        self._count += count

    def pieces(self) -> bytes:
        """All of them, one behind the other."""
        return b"".join(self._pieces)

    def joined(self) -> bytes:
        """All of them, as an array of msgpack."""
        # An array of up to 2 ** 32 - 1.
        return b"".join([b"\xdd", self._count.to_bytes(_COUNT_BYTES, "big"), *self._pieces])


class JoinedImages:
    """What `EncodedImages.joined` made: lines of JSON of the bytes, or objects, whichever somebody asks for."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._printed: dict[bool, Printed | None] = {}

    def __len__(self) -> int:
        return int.from_bytes(self.data[1:_HEAD], "big")

    @cached_property
    def images(self) -> list[Image]:
        """The objects."""
        return _DECODER.decode(self.data)

    def printed(self, *, before: bool) -> Printed | None:
        """The lines, made by compiled code; None where they are to be made of objects. `before`: see ImageRows."""
        if before not in self._printed:
            compiled = twin_now(COMPILED, len(self) >= _WORTH)
            count, images = len(self), memoryview(self.data)[_HEAD:]
            self._printed[before] = None if compiled is None else compiled.printed(images, count, before=before)
        return self._printed[before]


_COUNT_BYTES: Final = 4
_HEAD: Final = 1 + _COUNT_BYTES

COMPILED: Final = "tailer.images.compiled.lines"
"""What prints them."""

_WORTH: Final = 32
"""So many images are sooner printed by compiled code than it is called."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = StateDecoder[list[Image]](list[Image], "images that wait")
