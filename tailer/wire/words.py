"""The words in `Problem.error`, each with what it means. Both sides go by them; nothing is done here."""

from __future__ import annotations

from typing import Final

LEASED: Final = "leased"
"""409: another reader has the name; `after` seconds may free it."""

SUPERSEDED: Final = "superseded"
"""409: another reader took the name since, or it was dropped: what is held is no lease any more."""

NO_LEASE: Final = "no-lease"
"""409: `serve` was started anew and knows of no lease of that version: take the name again."""

CLEANED: Final = "cleaned"
"""409: `clean` took segments away while a consumer looked for its place: look again."""

BEHIND: Final = "behind"
"""409: the journal has other records than the reader knows: read them, and post again what is still to be said."""

NOT_DERIVED: Final = "not-derived"
"""409: the node's own reading of its log does not give such a record. `code` and the rest say why where it stopped."""

GONE: Final = "gone"
"""404: there is no such segment. 410: it was cleaned."""

NOT_VISIBLE: Final = "not-visible"
"""416: the file does not reach so far yet."""

ANOTHER_FILE: Final = "another-file"
"""412: the file under that name is another one than the reader's."""

NO_TOKEN: Final = "no-token"
"""401: neither a token nor a certificate was given."""

WRONG_TOKEN: Final = "wrong-token"
"""401: the token is none of those that are known."""

NOT_ALLOWED: Final = "not-allowed"
"""403: who asks may not do this; `what` says what, `remedy` who may."""

REFUSED: Final = "refused"
"""400, 413, 431 and others: the request is not one of this interface; `what` says why."""

QUARANTINE_FULL: Final = "quarantine-full"
"""507: the quarantine has reached its bound; `what` and the rest are the error's. Waiting does not help."""

JOURNAL_FULL: Final = "journal-full"
"""507: the records of the client's consumers have reached their bound. Waiting does not help."""

FAILED: Final = "failed"
"""500 and 503: the node could not do it; `code` and the rest are the error's."""
