"""Every metric once: name, kind, labels, what it says. A table: the pages and what is served are made from it.

Names and units are Prometheus': base units in the name, counters end in `_total`. Each counts since its process began.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]


class Metric(NamedTuple):
    """One metric. `help`: a sentence without its full stop, as Prometheus shows it."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    help: str


_RUN: Final = ("consumer", "node")
_NODE: Final = ("node",)
_LOG: Final = ("log",)
_STREAM: Final = ("consumer",)
_SUBSCRIPTION: Final = ("log", "consumer")

NO_CONSUMER: Final = "none"
"""How a run without a consumer is named, as its quarantine is."""

READY: Final = Metric("cdc_tail_ready", "gauge", _RUN, "1 where /readyz says so: registered, moving, its target there")
TO_READ: Final = Metric(
    "cdc_tail_durable_to_read_seconds", "histogram", _RUN,
    "From the sidecar that vouched for a row to the row being read; rows of a batch count as its oldest",
)  # fmt: skip
TO_DELIVERED: Final = Metric(
    "cdc_tail_read_to_delivered_seconds", "histogram", _RUN,
    "From a row being read to its target having it: taken by a sink, or committed by an outlet",
)  # fmt: skip
LAG_BYTES: Final = Metric("cdc_tail_lag_bytes", "gauge", _RUN, "Bytes of log that are durable and not delivered")
LAG_SEGMENTS: Final = Metric("cdc_tail_lag_segments", "gauge", _RUN, "Segments with bytes that are not delivered")
LAG_SECONDS: Final = Metric(
    "cdc_tail_lag_seconds", "gauge", _RUN, "For how long the oldest of what is not delivered has been durable"
)
STALLED: Final = Metric(
    "cdc_tail_stalled_seconds", "gauge", _RUN, "For how long something has waited and the position has not moved"
)
ROWS: Final = Metric(
    "cdc_tail_rows_total", "counter", (*_RUN, "keyspace", "table", "op"),
    "Rows read, by table and operation; of tables beyond the first 200 all as `other`",
)  # fmt: skip
DELIVERED_ROWS: Final = Metric("cdc_tail_delivered_rows_total", "counter", _RUN, "Rows that their target has")
COMMITS: Final = Metric("cdc_tail_commits_total", "counter", _RUN, "Positions that were made durable")
LOSSES: Final = Metric("cdc_tail_losses_total", "counter", _RUN, "Losses that were accepted (--accept-loss)")
QUARANTINED: Final = Metric(
    "cdc_tail_quarantined_entries_total", "counter", _RUN, "Entries of the log that were put into quarantine"
)
REFUSED_ROWS: Final = Metric(
    "cdc_tail_refused_rows_total", "counter", _RUN, "Rows that the target refused and that were put into quarantine"
)
RETRIES: Final = Metric("cdc_tail_target_retries_total", "counter", _RUN, "Tries at the target that found it away")
AWAY: Final = Metric(
    "cdc_tail_target_away_seconds", "gauge", _RUN, "For how long the target has been away; 0: it is not"
)
WAITING: Final = Metric(
    "cdc_tail_target_waiting_images", "gauge", _RUN, "Images of tables of the target that wait for a person"
)
HELD: Final = Metric(
    "cdc_tail_held_back", "gauge", _RUN, "1 where rows of later segments wait for one that is not finished"
)
TURNED: Final = Metric(
    "cdc_tail_loop_age_seconds", "gauge", _RUN, "For how long the loop has not turned; /healthz fails beyond 120"
)
FOLDER_READABLE: Final = Metric(
    "cdc_tail_folder_readable", "gauge", _NODE, "1 where the log folder could be looked at for these numbers"
)
FOLDER_BYTES: Final = Metric("cdc_tail_folder_bytes", "gauge", _NODE, "Bytes of segments in the log folder")
FOLDER_SEGMENTS: Final = Metric("cdc_tail_folder_segments", "gauge", _NODE, "Segments in the log folder")
FOLDER_CAP: Final = Metric(
    "cdc_tail_folder_cap_bytes", "gauge", _NODE,
    "What the server lets the folder take (cdc_total_space): --cap, else the server's default",
)  # fmt: skip

FOLLOWER: Final = (
    READY, LAG_SECONDS, LAG_BYTES, LAG_SEGMENTS, STALLED, TO_READ, TO_DELIVERED, ROWS, DELIVERED_ROWS, COMMITS, LOSSES,
    QUARANTINED, REFUSED_ROWS, RETRIES, AWAY, WAITING, HELD, TURNED, FOLDER_READABLE, FOLDER_BYTES, FOLDER_SEGMENTS,
    FOLDER_CAP,
)  # fmt: skip
"""Of `follow`, for each node; those of `stream` are some of these, and its own."""

STREAM_ROWS: Final = Metric("cdc_tail_stream_rows_total", "counter", _STREAM, "Rows of the query, of all its nodes")
STREAM_BATCH: Final = Metric(
    "cdc_tail_stream_batch_seconds", "histogram", _STREAM, "How long a micro-batch took (triggerExecution)"
)

STREAM: Final = (STREAM_ROWS, STREAM_BATCH)

SYNCS: Final = Metric(
    "cdc_tail_writer_sync_seconds", "histogram", _LOG, "How long an fsync of the log took; its count is that of fsyncs"
)
ENTRIES: Final = Metric(
    "cdc_tail_writer_entries_total", "counter", _LOG, "Entries appended: rows, and what belongs to transactions"
)
APPENDED: Final = Metric("cdc_tail_writer_bytes_total", "counter", _LOG, "Bytes of entries appended")
UNSYNCED: Final = Metric("cdc_tail_writer_unsynced_bytes", "gauge", _LOG, "Bytes appended that are not durable yet")
ROLLS: Final = Metric("cdc_tail_writer_segments_total", "counter", _LOG, "Segments begun")
OPEN: Final = Metric("cdc_tail_writer_open_transactions", "gauge", _LOG, "Transactions that are open")
OLDEST: Final = Metric(
    "cdc_tail_writer_oldest_transaction_seconds",
    "gauge",
    _LOG,
    "How long the oldest open transaction has been open; nothing from where it began on is cleaned. 0: none is open",
)
USED: Final = Metric("cdc_tail_writer_used_bytes", "gauge", _LOG, "Bytes in cdc_raw, as the cap counts them")
CAP: Final = Metric("cdc_tail_writer_cap_bytes", "gauge", _LOG, "The log's cap; with one alone, as is the next")
DROPPED: Final = Metric(
    "cdc_tail_writer_dropped_segment",
    "gauge",
    _LOG,
    "The highest segment that the cap took away (drop_oldest); 0: none",
)
HOOK_FAILURES: Final = Metric("cdc_tail_writer_hook_failures_total", "counter", _LOG, "How often a hook raised")
TROUBLE: Final = Metric(
    "cdc_tail_writer_trouble", "gauge", _LOG, "1 while a sidecar cannot be written or a segment not be dropped"
)
DEAD: Final = Metric("cdc_tail_writer_dead", "gauge", _LOG, "1 after a failed fsync: the log takes nothing any more")

WRITER: Final = (
    SYNCS, ENTRIES, APPENDED, UNSYNCED, ROLLS, OPEN, OLDEST, USED, CAP, DROPPED, HOOK_FAILURES, TROUBLE, DEAD
)  # fmt: skip
"""Of a service's log."""

FROM_BUFFER: Final = Metric(
    "cdc_tail_subscription_from_buffer", "gauge", _SUBSCRIPTION, "1: its last rows came from memory; 0: from segments"
)
SWITCHES: Final = Metric(
    "cdc_tail_subscription_switches_total", "counter", _SUBSCRIPTION, "How often it went from one to the other"
)
SUBSCRIPTION_ROWS: Final = Metric(
    "cdc_tail_subscription_rows_total", "counter", _SUBSCRIPTION, "Rows handed out"
)  # fmt: skip
SUBSCRIPTION_BYTES: Final = Metric(
    "cdc_tail_subscription_lag_bytes", "gauge", _SUBSCRIPTION,
    "Bytes behind its position, of the newest segment only where it stands in an earlier one",
)  # fmt: skip
SUBSCRIPTION_SEGMENTS: Final = Metric(
    "cdc_tail_subscription_lag_segments", "gauge", _SUBSCRIPTION, "Segments behind its position"
)
HANDOVER: Final = Metric(
    "cdc_tail_subscription_handover_seconds", "gauge", _SUBSCRIPTION,
    "From the fsync to the hand-over of the last section that came from memory",
)  # fmt: skip

SUBSCRIPTION: Final = (
    FROM_BUFFER, SWITCHES, SUBSCRIPTION_ROWS, SUBSCRIPTION_BYTES, SUBSCRIPTION_SEGMENTS, HANDOVER
)  # fmt: skip
"""Of each subscriber in the service's own process."""

HOLDS: Final = Metric(
    "cdc_tail_consumer_holds_bytes", "gauge", _RUN, "Bytes of segments that this consumer needs, so that none goes"
)
RUNNING: Final = Metric("cdc_tail_consumer_running", "gauge", _RUN, "1 where a process holds the consumer now")
KEPT: Final = Metric(
    "cdc_tail_quarantine_entries", "gauge", _RUN, "Entries and refused rows that are in quarantine now"
)
CLEANABLE: Final = Metric("cdc_tail_cleanable_bytes", "gauge", _NODE, "Bytes that `clean` would free now")
VOLUME_FREE: Final = Metric("cdc_tail_volume_free_bytes", "gauge", _NODE, "Bytes that the log folder's volume has free")
STATE_BYTES: Final = Metric("cdc_tail_state_bytes", "gauge", _NODE, "Bytes of the state folder")
STATE_PROBLEMS: Final = Metric(
    "cdc_tail_state_problems", "gauge", _NODE, "Parts of the state that cannot be read; /readyz fails with one"
)
LOOKED: Final = Metric("cdc_tail_look_age_seconds", "gauge", _NODE, "For how long the node's numbers have been known")
SERVED_BYTES: Final = Metric(
    "cdc_tail_serve_bytes_total", "counter", _NODE, "Bytes of bodies that were sent to readers"
)
REQUESTS: Final = Metric(
    "cdc_tail_serve_requests_total", "counter", (*_NODE, "status"), "Requests of readers, by the status they got"
)
SERVED_ERRORS: Final = Metric(
    "cdc_tail_serve_errors_total", "counter", (*_NODE, "kind"), "Requests that came to no answer, or a bad one, by kind"
)
READERS: Final = Metric("cdc_tail_serve_readers", "gauge", _NODE, "Readers that wait for news of the log now")
CONNECTIONS: Final = Metric("cdc_tail_serve_connections", "gauge", _NODE, "Connections of readers that are open now")
LEASES: Final = Metric("cdc_tail_serve_leases", "gauge", _NODE, "Consumers that are leased to a reader elsewhere")
LEASE: Final = Metric(
    "cdc_tail_serve_lease_seconds", "gauge", _RUN, "For how long the consumer's lease still runs; 0: it has ended"
)

NODE: Final = (
    HOLDS, RUNNING, KEPT, CLEANABLE, VOLUME_FREE, STATE_BYTES, STATE_PROBLEMS, LOOKED, SERVED_BYTES, REQUESTS,
    SERVED_ERRORS, READERS, CONNECTIONS, LEASES, LEASE,
)  # fmt: skip
"""Of a node that is served, beside the lag of each consumer and the folder, as `follow` has them."""

TABLE: Final = (*FOLLOWER, *STREAM, *WRITER, *SUBSCRIPTION, *NODE)
"""All metrics there are."""
