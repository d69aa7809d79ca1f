"""The table of format page 5.1, and every length's limits."""

from __future__ import annotations

import pytest

from tailer.framing.vint import VINT_BYTES_MAX, read_vint
from tests.unit.scan.mutations import vint

PAGE = {
    0: "00",
    127: "7f",
    128: "8080",
    16383: "bfff",
    16384: "c04000",
    2**56 - 1: "feffffffffffffff",
    2**56: "ff0100000000000000",
    2**64 - 1: "ffffffffffffffffff",
}


@pytest.mark.parametrize(("value", "text"), PAGE.items())
def test_the_values_of_the_format_page(value: int, text: str) -> None:
    written = bytes.fromhex(text)
    assert vint(value) == written
    assert read_vint(b"\xaa" + written + bytes(VINT_BYTES_MAX), 1) == (value, 1 + len(written))


@pytest.mark.parametrize("bits", range(65))
def test_either_side_of_every_power_of_two(bits: int) -> None:
    for value in {max(2**bits - 1, 0), min(2**bits, 2**64 - 1)}:
        written = vint(value)
        assert len(written) == next((n for n in range(1, 9) if value < 1 << 7 * n), 9)
        assert read_vint(written + bytes(VINT_BYTES_MAX), 0) == (value, len(written))


def test_a_longer_form_than_needed_reads_the_same() -> None:
    assert read_vint(bytes.fromhex("8005") + bytes(9), 0) == (5, 2)
    assert read_vint(bytes.fromhex("ff0000000000000005") + bytes(9), 0) == (5, 9)
