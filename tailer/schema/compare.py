"""What a server's response adds to a schema state: the rows by which definitions change.

An ALTER whose segment the server deleted is found this way. A table or column that the response lacks is not thereby
dropped: the response may be older than the state, or one of its tables was read at another moment. A drop is proven by
a row of `dropped_columns`, by another id of the name, or by a log.
"""

from __future__ import annotations

from collections.abc import Sequence

from tailer.schema.follow import SchemaState
from tailer.schema.rows import SchemaDelta


def additions(state: SchemaState, response: Sequence[SchemaDelta]) -> list[SchemaDelta]:
    """The rows of the response that change a definition of `state`, with all rows of the same tables and types.

    `state` is changed: it holds the response behind the call. Rows have the server's own write timestamps, so newer
    rows of the state win over them.
    """
    changed = state.apply(response, response=True).values()
    places = {(held.keyspace, held.table) for held in changed}
    types = {(held.keyspace, name) for held in changed for name in held.types}
    return [
        delta
        for delta in response
        if (delta.keyspace, *delta.clustering[:1]) in (types if delta.table == "types" else places)
    ]
