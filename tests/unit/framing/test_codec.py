"""Codecs against what their own compressors and genuine logs wrote; and any bytes at all give bytes or CorruptError."""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailer.errors import CorruptError, DefinitionError
from tailer.framing.codec import Codec, open_codec
from tailer.framing.header import Header, decode_header
from tailer.framing.section import NoSection, body_offset, read_section
from tailer.limits import SECTION_BYTES_MAX
from tailer.position import Position
from tests.helpers.logs.codecs import IV, KEY, aes, deflate, lz4, snappy, zstd

AT = Position(1795258359421, 123)
PACKAGE = "org.apache.cassandra.io.compress."
PLAIN = b"".join(b"%d:%s;" % (number, b"abc" * (number % 7)) for number in range(3000))
ENTRY_HEAD = struct.Struct(">iI")


def encrypted(plain: bytes, key: bytes = KEY) -> bytes:
    return aes(plain, key, chunk=4096)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "LZ4Compressor": lz4,
    "SnappyCompressor": snappy,
    "DeflateCompressor": deflate,
    "ZstdCompressor": zstd,
    "NoopCompressor": bytes,
    "AES": encrypted,
}


def header(**parameters: Any) -> Header:
    return Header(7, AT.segment, parameters, 83)


def aes_header(**changes: Any) -> Header:
    return header(**{"encCipher": "AES/CBC/PKCS5Padding", "encKeyAlias": "testing:1", "encIV": IV.hex(), **changes})


def codec(name: str) -> Codec:
    return open_codec(aes_header(), KEY) if name == "AES" else open_codec(header(compressionClass=name))


@pytest.fixture(params=COMPRESS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


PACKED = [name for name in COMPRESS if name != "NoopCompressor"]
"""All that can tell good bytes from others."""


@pytest.mark.parametrize("plain", [PLAIN, b"x", b"\0" * 200_000, random.Random(5).randbytes(100_000)])
def test_what_a_compressor_wrote_comes_out_again(name: str, plain: bytes) -> None:
    body = COMPRESS[name](plain)
    assert codec(name).decode(body, len(plain), AT) == plain
    assert codec(name).decode(memoryview(body), len(plain), AT) == plain


def test_full_class_names_mean_the_same() -> None:
    assert open_codec(header(compressionClass=f"{PACKAGE}ZstdCompressor")) is codec("ZstdCompressor")


def test_plain_and_noop_sections_are_their_own_bytes() -> None:
    assert open_codec(header()).decode(memoryview(b"entries"), 7, AT) == b"entries"
    with pytest.raises(CorruptError):
        open_codec(header()).decode(b"entries", 8, AT)


@pytest.mark.parametrize("body", [b"", b"\0\0\0\0\0", b"anything"])
@pytest.mark.parametrize("name", [name for name in PACKED if name != "AES"])
def test_an_empty_section_has_no_bytes_whatever_its_body(name: str, body: bytes) -> None:
    assert codec(name).decode(body, 0, AT) == b""


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda body: b"",
    "one byte less": lambda body: body[:-1],
    "half": lambda body: body[: len(body) // 2],
    "zeros": lambda body: bytes(len(body)),
    "one byte more": lambda body: body + b"\0",
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_error_with_its_place(name: str, damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(CorruptError) as caught:
        codec(name).decode(damage(COMPRESS[name](PLAIN)), len(PLAIN), AT)
    assert caught.value.at == AT
    assert caught.value.expected is not None
    assert str(AT) in caught.value.sentence()


@pytest.mark.parametrize("wrong", [-1, -(2**31), 1, len(PLAIN) - 1, len(PLAIN) + 1, SECTION_BYTES_MAX, 2**31 - 1])
def test_a_wrong_length_is_an_error(name: str, wrong: int) -> None:
    with pytest.raises(CorruptError):
        codec(name).decode(COMPRESS[name](PLAIN), wrong, AT)


def test_a_length_that_the_body_cannot_hold_allocates_nothing() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from tests.unit.framing.test_codec import *\n"
        "for name in ('LZ4Compressor', 'SnappyCompressor', 'DeflateCompressor', 'ZstdCompressor', 'AES'):\n"
        "    try: codec(name).decode(COMPRESS[name](b'abc' * 100), SECTION_BYTES_MAX, AT)\n"
        "    except CorruptError: print(name)\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) == 5


def outcome(name: str, body: bytes, length: int) -> bytes | CorruptError:
    try:
        return codec(name).decode(body, length, AT)
    except CorruptError as error:
        return error


def documented(result: bytes | CorruptError, length: int) -> bool:
    return result.at == AT if isinstance(result, CorruptError) else len(result) == length


def test_every_bit_of_a_small_section(name: str) -> None:
    plain = PLAIN[:400]
    body = COMPRESS[name](plain)
    assert len(body) > 50
    for bit in range(len(body) * 8):
        changed = bytearray(body)
        changed[bit // 8] ^= 1 << bit % 8
        assert documented(outcome(name, bytes(changed), len(plain)), len(plain))


@given(name=st.sampled_from(sorted(COMPRESS)), body=st.binary(max_size=200), length=st.integers(-5, 2**31 - 1))
def test_any_bytes_give_bytes_or_the_documented_error(name: str, body: bytes, length: int) -> None:
    assert documented(outcome(name, body, length), length)


@given(name=st.sampled_from(sorted(COMPRESS)), seed=st.integers(0, 2**32), count=st.integers(1, 6))
def test_changed_bytes_give_bytes_or_the_documented_error(name: str, seed: int, count: int) -> None:
    chance, body = random.Random(seed), bytearray(COMPRESS[name](PLAIN[:3000]))
    for _ in range(count):
        body[chance.randrange(len(body))] = chance.randrange(256)
    assert documented(outcome(name, bytes(body), 3000), 3000)


@pytest.mark.parametrize("unknown", ["BrotliCompressor", "com.example.LZ4Compressor", "", "ZstdDictionaryCompressor"])
def test_an_unknown_compressor_is_refused_with_those_that_are_known(unknown: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        open_codec(header(compressionClass=unknown))
    for known in COMPRESS:
        assert known == "AES" or known in caught.value.sentence()


def test_an_unknown_cipher_is_refused_with_the_one_that_is_known() -> None:
    with pytest.raises(DefinitionError, match=r"AES/CBC/PKCS5Padding.*DES/ECB"):
        open_codec(aes_header(encCipher="DES/ECB/NoPadding"), KEY)


def test_a_missing_key_names_the_option() -> None:
    with pytest.raises(DefinitionError, match=r"testing:1.*--keystore") as caught:
        open_codec(aes_header(), None)
    assert caught.value.code == 3


def test_a_key_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(DefinitionError, match="16, 24 or 32"):
        open_codec(aes_header(), b"short")


@pytest.mark.parametrize("vector", [None, 7, "", "00", "xx" * 16, "00" * 17])
def test_a_bad_initialisation_vector_is_corruption(vector: object) -> None:
    with pytest.raises(CorruptError, match="encIV"):
        open_codec(aes_header(encIV=vector), KEY)


def test_another_key_is_an_error_that_says_so() -> None:
    with pytest.raises(CorruptError, match="keystore"):
        open_codec(aes_header(), bytes(16)).decode(encrypted(PLAIN), len(PLAIN), AT)


@pytest.mark.parametrize("length", [16, 24, 32])
def test_keys_of_every_length(length: int) -> None:
    key = bytes(range(length))
    assert open_codec(aes_header(), key).decode(encrypted(PLAIN, key=key), len(PLAIN), AT) == PLAIN


def test_plain_segments_load_no_library() -> None:
    program = (
        "import sys; from tailer.framing.codec import *; from tailer.framing.header import Header\n"
        "open_codec(Header(7, 1, {}, 20)).decode(b'x', 1, Position(1, 20))\n"
        "print(*{'cramjam', 'cryptography', 'javaobj', 'numpy', 'pyarrow'} & set(sys.modules))"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


GENUINE = ("50-lz4", "41-lz4", "50-snappy", "50-deflate", "50-zstd", "50-aes", "40-aes")


@pytest.mark.parametrize("set_name", GENUINE)
def test_genuine_logs_give_the_entries_that_the_server_saw(sets_root: Path, set_name: str) -> None:
    folder = sets_root / set_name
    told = folder / "encryption.json"
    key = bytes.fromhex(json.loads(told.read_text())["key_hex"]) if told.exists() else None
    seen = 0
    for view in sorted((folder / "expected").iterdir()):
        lines = [json.loads(line) for line in view.read_text("utf-8").splitlines()]
        ends = dict(entries((folder / "cdc_raw" / view.name.removesuffix(".jsonl")).read_bytes(), key))
        assert [(line["end"], line["size"]) for line in lines if ends.get(line["end"]) != line["size"]] == []
        seen += len(lines)
    assert seen == json.loads((folder / "meta.json").read_text())["mutations_total"]


def entries(data: bytes, key: bytes | None) -> Iterator[tuple[int, int]]:
    """(logical end, size) of every entry, both CRCs checked here."""
    head = decode_header(data)
    assert head is not None
    decode = open_codec(head, key).decode
    at = start = head.length
    while not isinstance(section := read_section(data[at : at + 12], head, at, start, len(data)), NoSection):
        body = memoryview(data)[body_offset(head, section) : section.next_at]
        plain = decode(body, section.plain_length, Position(head.segment, section.start))
        offset = 0
        while offset < len(plain):
            size, crc = ENTRY_HEAD.unpack_from(plain, offset)
            end = offset + 8 + size
            assert crc == zlib.crc32(plain[offset : offset + 4])
            assert plain[end : end + 4] == struct.pack(">I", zlib.crc32(plain[offset + 8 : end], crc))
            offset = end + 4
            yield section.start + 8 + offset, size
        at, start = section.next_at, section.end
    assert section.why.clean
