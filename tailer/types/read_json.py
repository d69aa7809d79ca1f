"""JSON text of values read back without loss: every number stays the text that it is. Knows no type."""

from __future__ import annotations

import json
from typing import Any

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)


def read_json(text: str) -> Any:
    """The value of a JSON text: objects and arrays as dict and list, strings *and numbers* as `str`.

    A decimal's scale and a number's every digit are kept. ValueError for what is no JSON.
    """
    return _DECODER.decode(text)
