"""What happens in a history, drawn from its seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final, Literal

Source = Literal["node", "service"]

_KINDS: Final = {
    "write": 40, "alter": 3, "truncate": 1, "down": 1, "sync": 20, "roll": 6, "crash": 2, "drain": 2,
    "kill reader": 8, "clean": 6, "kill at call": 8, "power loss": 1,
    "disk fails": 4, "wait": 1,
    "drop visitor": 1, "move": 2, "look": 3, "read": 2, "network": 1,
    "unpack": 1, "odd": 2, "replay": 2, "clock": 1, "attack": 2, "empty": 1, "restore": 2, "rot": 2,
}  # fmt: skip
"""How often each comes, of 125."""


@dataclass(frozen=True)
class Operation:
    """`who` does `what`, after `pause` seconds; `number` and `value` say which, where it needs that."""

    who: str
    what: str
    pause: float
    number: int = 0
    value: int = 0

    def __str__(self) -> str:
        more = {"write": f" {self.value}", "kill at call": f" {self.number}"}.get(self.what, "")
        return f"{self.who}: {self.what}{more} (after {self.pause * 1000:.1f} ms)"


_OF: Final = {
    "node": (
        "alter", "truncate", "down", "roll", "crash", "wait", "network", "odd", "replay", "clock", "attack",
        "empty", "rot",
    ),
    "service": ("power loss", "crash"),
}  # fmt: skip
"""What servers of one source do alone. Cassandra promises nothing of names that a power loss takes from `cdc_raw`."""


def drawn(seed: int, length: int, source: Source) -> list[Operation]:
    """So many operations."""
    random = Random(seed)
    others = {what for kinds in _OF.values() for what in kinds} - {*_OF[source]}
    kinds = {what: weight for what, weight in _KINDS.items() if what not in others}
    return [_one(random, kinds, value, source) for value in range(length)]


def _one(random: Random, kinds: dict[str, int], value: int, source: Source) -> Operation:
    pause = random.choice((0.0, 0.0005, 0.005, 0.05)) * random.random()
    (what,) = random.choices(list(kinds), list(kinds.values()))
    match what:
        case "kill reader":
            who = "reader"
        case "kill at call":
            who = random.choice(("reader", "reader", "reader", "server", "cleaner", "operator"))
        case "disk fails":
            who = random.choice(
                ("reader", "reader", "cleaner" if source == "node" else "service", "cleaner", "operator")
            )
        case "clean":
            who = "cleaner"
        case "look" | "unpack" | "drop visitor" | "move" | "read" | "replay":
            who = "operator"
        case "network":
            who = "network"
        case "attack":
            who = "hostile"
        case "power loss":
            who = "machine"
        case _:
            who = "server"
    if what == "wait":
        pause = random.choice((1.0, 10.0, 40.0))
    number = random.randrange(1, 120) if what == "kill at call" else random.randrange(2)
    return Operation(who, what, pause, number, value)
