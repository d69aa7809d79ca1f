"""The addresses of a node's interface, and the headers that both sides use. Sends and answers nothing."""

from __future__ import annotations

from typing import Final

BASE: Final = "/api/v1/cdc"
SEGMENTS: Final = f"{BASE}/segments"
CONSUMERS: Final = f"{BASE}/consumers"
RECORDS: Final = f"{BASE}/records"
HOLDS: Final = f"{BASE}/holds"
STATUS: Final = f"{BASE}/status"

QUARANTINE: Final = "quarantine"
"""Behind a consumer's own address."""

FOLDER_HEADER: Final = "X-Cdc-Folder"
"""In every answer: the random id of the node's state, empty while it has none. Another one is another node's log."""

LEASE_HEADER: Final = "X-Cdc-Lease"
"""In requests in a consumer's name: the version that taking it gave. Older ones are 409."""

READER_HEADER: Final = "X-Cdc-Reader"
"""With it: who holds that lease, by the random name that the reader gave itself."""

LEASE_SECONDS: Final = 60.0
"""How long a name is its reader's after its last request."""

WAIT_SECONDS: Final = 70.0
"""How long another reader waits for a name that is taken: longer than a lease lasts, whose reader was killed."""

LIST_WAIT_SECONDS: Final = 25.0
"""How long a list that has nothing new is waited for, at most."""

BODY_BYTES_MAX: Final = 1 << 20
"""Of a request; of more records there are several requests."""

RECORDS_BYTES_MAX: Final = 4 << 20
"""Of records in one answer, as soon as there is one."""

PORT: Final = 9043
STATUS_PORT: Final = 9044
