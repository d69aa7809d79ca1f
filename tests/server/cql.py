"""CQL sessions of cassandra-driver, for as long as a block lasts. Knows addresses, and nothing of who listens there."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

RECONNECT_SECONDS = 1.0


@contextmanager
def cql_session(addresses: Sequence[str], port: int, later: Sequence[str] = ()) -> Iterator[Any]:
    """A session with these nodes alone, whatever others they tell of; with those of `later` once they are told of.

    One that was away is tried each second.
    """
    # The driver has no types of its own, and only these tests need it: imported where it is used.
    cluster_module = importlib.import_module("cassandra.cluster")
    policies = importlib.import_module("cassandra.policies")
    profile = cluster_module.ExecutionProfile(
        load_balancing_policy=policies.WhiteListRoundRobinPolicy([*addresses, *later]), request_timeout=60
    )
    cluster = cluster_module.Cluster(
        list(addresses),
        port=port,
        execution_profiles={cluster_module.EXEC_PROFILE_DEFAULT: profile},
        protocol_version=5,
        connect_timeout=30,
        control_connection_timeout=30,
        reconnection_policy=policies.ConstantReconnectionPolicy(RECONNECT_SECONDS, max_attempts=None),
    )
    try:
        yield cluster.connect()
    finally:
        cluster.shutdown()
