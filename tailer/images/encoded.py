"""Images as bytes, one behind the other: as they wait in a state to be taken. Compiled code writes the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from tailer.images.image import Image
from tailer.typed_decode import msgpack_decoder


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
        return b"".join([b"\xdd", self._count.to_bytes(4, "big"), *self._pieces])


def decoded(joined: bytes) -> list[Image]:
    """The images that `EncodedImages.joined` made bytes of."""
    return _DECODER.decode(joined)


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgpack_decoder(list[Image])
