"""A client of `serve` that may have consumers of its own, and tries everything else. Whatever it asks, it is refused in
words; others never notice."""

from __future__ import annotations

import http.client
import json
import time
from random import Random
from typing import Any, Final

from tests.simulation.consumers import ViolationError
from tests.simulation.encoded import KEYSPACE

TOKEN: Final = "hostile-hostile-hostile"
_BASE: Final = "/api/v1/cdc"
_HUGE: Final = "9" * 5000
_NAMES: Final = (
    "always",
    "lagging",
    "visitor",
    "remote",
    "images",
    "kept",
    "hostile-1",
    "hostile-2",
    "../x",
    "a" * 300,
)
_BROKEN: Final = (http.client.HTTPException, OSError)


def attack(host: str, port: int, random: Random) -> int:
    """Some requests, one after the other."""
    for _ in range(random.randint(1, 8)):
        time.sleep(random.choice((0.0, 0.01, 1.0)))
        _ask(host, port, *_request(random))
    return 0


def _ask(host: str, port: int, method: str, path: str, headers: dict[str, str], body: bytes | None) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=30.0)
    try:
        connection.request(method, _BASE + path, body, {"Authorization": f"Bearer {TOKEN}", **headers})
        answer = connection.getresponse()
        said = answer.read()
    except _BROKEN:
        return
    finally:
        connection.close()
    if answer.status == 500 or (answer.status > 500 and answer.status not in (503, 507)):
        raise ViolationError(f"serve answers {method} {path[:200]} with {answer.status}: {said[:500]!r}")
    if answer.status < 400 and method != "GET" and not _is_its_own(path):
        raise ViolationError(f"serve did for a client what it may not do: {method} {path}: {said[:500]!r}")


def _is_its_own(path: str) -> bool:
    return "/hostile-" in path or path.startswith("/holds/")


def _request(random: Random) -> tuple[str, str, dict[str, str], bytes | None]:
    name = random.choice(_NAMES)
    number = random.choice(("0", "1", "-1", _HUGE, "x", "1" * 20))
    kind = random.choice(("look", "range", "consumer", "records", "hold", "odd"))
    if kind == "look":
        path = random.choice(
            (
                f"/segments?etag={number}", f"/segments?wait={number}s", f"/records?from={number}", "/status",
                f"/consumers/{name}", f"/records?from=0&base={number}", f"/status?cap={number}", "/consumers",
                "/segments?etag=a&wait=2s",
            )
        )  # fmt: skip
        return "GET", path, {}, None
    if kind == "range":
        segment = random.choice(("CommitLog-7-1.log", f"CommitLog-7-{number}.log", "..", "CommitLog-7-1_cdc.idx"))
        headers = {"Range": f"bytes={number}-{random.choice(('', number))}", "If-Match": random.choice(("*", number))}
        return "GET", f"/segments/{segment}", headers, None
    if kind == "consumer":
        lease = {"X-Cdc-Lease": number, "X-Cdc-Reader": "hostile"} if random.random() < 0.5 else {}
        if random.random() < 0.3:
            return "DELETE", f"/consumers/{name}", lease, None
        if random.random() < 0.2:
            return "POST", f"/consumers/{name}/quarantine", lease, _body(random, {"entries": []})
        taken = {"reader": "hostile", "version": random.choice((0, 1, 10**30)), "gives_back": random.random() < 0.5}
        return "PUT", f"/consumers/{name}", lease, _body(random, taken)
    if kind == "records":
        return "POST", "/records", {}, _records(random, name)
    if kind == "hold":
        content = {"node": "n1", "segment": random.choice((0, 10**30, -1)), "seconds": 1e300}
        return random.choice(("PUT", "DELETE")), f"/holds/{name}", {}, _body(random, content)
    return random.choice(("PATCH", "POST", "GET", "HEAD")), f"/{name}", {"Content-Length": "10"}, b"0123456789"


def _records(random: Random, name: str) -> bytes:
    """Decisions in another's name, and a definition that would drop a table for everybody. In the product's own words:
    what is refused is to be refused for what it says."""
    import msgspec

    from tailer.position import Position
    from tailer.schema.rows import SchemaDelta
    from tailer.state import journal_records as kinds
    from tailer.wire.state import PostRecords, encode

    at, gone = Position(1, 0), (SchemaDelta("tables", KEYSPACE, ("wide",), row_deletion=2**62),)
    record = random.choice(
        (
            kinds.SchemaRecord(at=at, source=random.choice(("log", "file x.cql", "server n1")), deltas=gone),
            kinds.OwnSchemaRecord(at=at, source="file x.cql", deltas=gone, consumer=name),
            kinds.AppearedRecord(consumer=name, segment=1, behind=10**15, end=None),
            kinds.RetractRecord(of=1),
        )
    )
    asked = encode(PostRecords(random.choice((0, 1, 5)), [record], name))
    if random.random() < 0.3:
        return asked
    content = msgspec.json.decode(asked)
    content[random.choice(list(content))] = random.choice((10**30, None, [], "x"))
    return msgspec.json.encode(content)


def _body(random: Random, content: Any) -> bytes:
    made = json.dumps(content).encode()
    return made if random.random() < 0.8 else made[: random.randrange(len(made))]
