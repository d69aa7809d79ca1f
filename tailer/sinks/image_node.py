"""What a target knows the images of all nodes by, where it has rows by their node: `images`, or `images_A..B` for those
of a range of tokens."""

from __future__ import annotations

import re
from typing import Final

_ALL: Final = "images"
_RANGE: Final = re.compile(rf"{_ALL}_(-?\d{{1,19}})\.\.(-?\d{{1,19}})", re.ASCII)


def image_node(tokens: tuple[int, int] | None) -> str:
    """Of images of these tokens, both ends included; of all of them (None)."""
    return _ALL if tokens is None else f"{_ALL}_{tokens[0]}..{tokens[1]}"


def apart(one: str, other: str) -> bool:
    """Whether both are images of some tokens, and of none in common."""
    first, second = _RANGE.fullmatch(one), _RANGE.fullmatch(other)
    if first is None or second is None:
        return False
    return int(first[2]) < int(second[1]) or int(second[2]) < int(first[1])
