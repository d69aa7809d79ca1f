"""CQL literals of every scalar type from a seeded generator: the ordinary ones, and corners to trip on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

WORDS = ["", "a", "plain words", "it's", 'say "so"', "back\\slash", "line\nbreak\ttab", "\x01", "null", "{}", "x" * 300]
WORDS += ["ünïcödé", "日本", "🙂 four bytes"]
_START = datetime(2020, 1, 1, tzinfo=UTC)


def text(rng: Random) -> str:
    """A text literal. A generated number often follows, so that keys are not all alike."""
    word = rng.choice(WORDS)
    return quoted(word if rng.random() < 0.5 else f"{word}{rng.randrange(1000)}")


def quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def whole(bits: int) -> Callable[[Random], str]:
    """Signed integers of that many bits, the least and the greatest among them."""
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1
    return lambda rng: str(rng.choice([0, 1, -1, least, greatest, rng.randint(least, greatest), rng.randint(0, 100)]))


def uuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=4))


def timeuuid(rng: Random) -> str:
    return str(UUID(int=rng.getrandbits(128), version=1))


def blob(rng: Random) -> str:
    return "0x" + rng.randbytes(rng.choice([0, 1, 2, 17, 200])).hex()


def timestamp(rng: Random) -> str:
    return str(rng.choice([0, -1, 253402300799999, rng.randrange(-(10**12), 2 * 10**12)]))


def date(rng: Random) -> str:
    return quoted(f"{_START + timedelta(days=rng.randrange(-20000, 20000)):%Y-%m-%d}")


def time(rng: Random) -> str:
    seconds = rng.randrange(86400)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return quoted(clock + rng.choice(["", ".000000001", f".{rng.randrange(1000):03}", ".999999999"]))


def duration(rng: Random) -> str:
    return rng.choice(
        ["0s", "1mo", "-3d", f"{rng.randrange(100)}y{rng.randrange(12)}mo{rng.randrange(400)}d", "1h2m3s4ms5us6ns"]
    )


def decimal(rng: Random) -> str:
    return rng.choice(
        [
            "0",
            "0.00",
            "-1.5",
            "1E+10",
            "3E-20",
            "123456789012345678901234567890.123",
            f"{rng.randrange(10**6)}.{rng.randrange(10**6)}",
        ]
    )


def varint(rng: Random) -> str:
    return str(rng.choice([0, 127, 128, -128, -129, 1 << 64, -(1 << 90), rng.randint(-(10**20), 10**20)]))


def floating(rng: Random) -> str:
    return rng.choice(
        ["0.0", "-0.0", "1.5", "3.4e38", "1e-45", "NaN", "Infinity", "-Infinity", repr(rng.uniform(-1000, 1000))]
    )


def inet(rng: Random) -> str:
    return quoted(
        rng.choice(["127.0.0.1", "::1", "255.255.255.255", "2001:db8::ff00:42:8329", f"10.0.0.{rng.randrange(256)}"])
    )


def boolean(rng: Random) -> str:
    return rng.choice(["true", "false"])


def ascii_(rng: Random) -> str:
    return quoted(rng.choice(["", "plain", 'a"b', "tab\t", f"n{rng.randrange(1000)}"]))


SCALARS: dict[str, Callable[[Random], str]] = {
    "ascii": ascii_,
    "bigint": whole(64),
    "blob": blob,
    "boolean": boolean,
    "date": date,
    "decimal": decimal,
    "double": floating,
    "duration": duration,
    "float": floating,
    "inet": inet,
    "int": whole(32),
    "smallint": whole(16),
    "text": text,
    "time": time,
    "timestamp": timestamp,
    "timeuuid": timeuuid,
    "tinyint": whole(8),
    "uuid": uuid,
    "varint": varint,
}


def several(rng: Random, one: Callable[[Random], str], least: int = 0, most: int = 4) -> list[str]:
    return [one(rng) for _ in range(rng.randint(least, most))]


def number(rng: Random) -> str:
    """A small integer: for keys and elements that are to meet again."""
    return str(rng.randrange(8))


def list_of(items: list[str]) -> str:
    return f"[{', '.join(items)}]"


def set_of(items: list[str]) -> str:
    return f"{{{', '.join(items)}}}"


def map_of(keys: list[str], values: list[str]) -> str:
    return f"{{{', '.join(f'{key}: {value}' for key, value in zip(keys, values, strict=True))}}}"
