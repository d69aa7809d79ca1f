"""A stand-in for a schema registry: the answers that Confluent documents for `POST /subjects/…/versions`.

The same schema has one id under every subject; a subject that is `refused` is incompatible.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class StandIn:
    """`schemas`: by id. `asked`: the subject and the Authorization of each request. `answer`: instead of the ordinary
    ones, a status and a body."""

    def __init__(self) -> None:
        self.schemas: dict[int, str] = {}
        self.asked: list[tuple[str, str | None]] = []
        self.subjects: dict[str, list[int]] = {}
        self.answer: tuple[int, bytes] | None = None
        self.address = ""

    def register(self, subject: str, schema: str) -> int:
        id = next((id for id, known in self.schemas.items() if known == schema), len(self.schemas) + 100_001)
        self.schemas[id] = schema
        self.subjects.setdefault(subject, []).append(id)
        return id


@contextmanager
def registry() -> Iterator[StandIn]:
    """One that answers until the block ends."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            _, word, subject, versions = self.path.split("/")
            assert (word, versions, body["schemaType"]) == ("subjects", "versions", "AVRO")
            assert self.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"
            name = urllib.parse.unquote(subject)
            stand_in.asked.append((name, self.headers["Authorization"]))
            status, told = stand_in.answer or (
                200,
                json.dumps({"id": stand_in.register(name, body["schema"])}).encode(),
            )
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: the tests look at what was asked."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand_in.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()
