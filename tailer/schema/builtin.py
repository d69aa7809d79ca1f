"""What needs no source: the layouts of `system_schema` and `system.local`, and the names of all system tables by id.

Layouts are those of 4.0 to 5.0 in one: columns that a version has not do not occur in its log (format page 9.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import md5
from types import MappingProxyType
from typing import Final
from uuid import UUID

from tailer.schema.cql_file import parse_cql
from tailer.schema.follow import SchemaState
from tailer.schema.model import TableDefinition

_OPTIONS: Final = """
    additional_write_policy text, allow_auto_snapshot boolean, bloom_filter_fp_chance double,
    caching frozen<map<text, text>>, cdc boolean, comment text, compaction frozen<map<text, text>>,
    compression frozen<map<text, text>>, crc_check_chance double, dclocal_read_repair_chance double,
    default_time_to_live int, extensions frozen<map<text, blob>>, gc_grace_seconds int, id uuid,
    incremental_backups boolean, max_index_interval int, memtable text, memtable_flush_period_in_ms int,
    min_index_interval int, read_repair text, read_repair_chance double, speculative_retry text"""

_LAYOUTS: Final = f"""
USE system_schema;
CREATE TABLE keyspaces (keyspace_name text PRIMARY KEY, durable_writes boolean, replication frozen<map<text, text>>);
CREATE TABLE tables (keyspace_name text, table_name text, flags frozen<set<text>>, {_OPTIONS},
    PRIMARY KEY (keyspace_name, table_name));
CREATE TABLE views (keyspace_name text, view_name text, base_table_id uuid, base_table_name text,
    include_all_columns boolean, where_clause text, {_OPTIONS}, PRIMARY KEY (keyspace_name, view_name));
CREATE TABLE columns (keyspace_name text, table_name text, column_name text, clustering_order text,
    column_name_bytes blob, kind text, position int, type text, PRIMARY KEY (keyspace_name, table_name, column_name));
CREATE TABLE dropped_columns (keyspace_name text, table_name text, column_name text, dropped_time timestamp, kind text,
    type text, PRIMARY KEY (keyspace_name, table_name, column_name));
CREATE TABLE column_masks (keyspace_name text, table_name text, column_name text,
    function_argument_nulls frozen<list<boolean>>, function_argument_types frozen<list<text>>,
    function_argument_values frozen<list<text>>, function_keyspace text, function_name text,
    PRIMARY KEY (keyspace_name, table_name, column_name));
CREATE TABLE types (keyspace_name text, type_name text, field_names frozen<list<text>>,
    field_types frozen<list<text>>, PRIMARY KEY (keyspace_name, type_name));
CREATE TABLE indexes (keyspace_name text, table_name text, index_name text, kind text,
    options frozen<map<text, text>>, PRIMARY KEY (keyspace_name, table_name, index_name));
CREATE TABLE triggers (keyspace_name text, table_name text, trigger_name text, options frozen<map<text, text>>,
    PRIMARY KEY (keyspace_name, table_name, trigger_name));
CREATE TABLE functions (keyspace_name text, function_name text, argument_types frozen<list<text>>,
    argument_names frozen<list<text>>, body text, called_on_null_input boolean, language text, return_type text,
    PRIMARY KEY (keyspace_name, function_name, argument_types));
CREATE TABLE aggregates (keyspace_name text, aggregate_name text, argument_types frozen<list<text>>, final_func text,
    initcond text, return_type text, state_func text, state_type text,
    PRIMARY KEY (keyspace_name, aggregate_name, argument_types));
CREATE TABLE system.local (key text PRIMARY KEY, bootstrapped text, broadcast_address inet, broadcast_port int,
    cluster_name text, cql_version text, data_center text, gossip_generation int, host_id uuid, listen_address inet,
    listen_port int, native_protocol_version text, partitioner text, rack text, release_version text, rpc_address inet,
    rpc_port int, schema_version uuid, thrift_version text, tokens set<text>, truncated_at map<uuid, blob>);
ALTER TABLE system.local DROP thrift_version;
"""

_NAMES: Final[Mapping[str, str]] = {
    "system": "IndexInfo available_ranges available_ranges_v2 batches batchlog built_views compaction_history hints"
    " local paxos paxos_repair_history peer_events peer_events_v2 peers peers_v2 prepared_statements repairs"
    " range_xfers schema_aggregates schema_columnfamilies schema_columns schema_functions schema_keyspaces"
    " schema_triggers schema_usertypes size_estimates sstable_activity sstable_activity_v2 table_estimates"
    " top_partitions transferred_ranges transferred_ranges_v2 view_builds_in_progress views_builds_in_progress",
    "system_auth": "cidr_groups cidr_permissions credentials identity_to_role network_permissions permissions"
    " resource_role_permissons_index role_members role_permissions roles users",
    "system_distributed": "parent_repair_history partition_denylist repair_history view_build_status",
    "system_schema": "aggregates column_masks columns dropped_columns functions indexes keyspaces tables triggers types"
    " views",
    "system_traces": "events sessions",
}
"""Tables of the keyspaces a server makes itself, those kept from before 4.0 included."""


def system_table_id(keyspace: str, table: str) -> str:
    """The id of a system table as 32 hex digits: MD5 of keyspace and table as a version-3 UUID (format page 9)."""
    digest = md5(f"{keyspace}{table}".encode(), usedforsecurity=False).digest()
    return UUID(bytes=digest, version=3).hex


_TABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        system_table_id(keyspace, table): f"{keyspace}.{table}"
        for keyspace, tables in _NAMES.items()
        for table in tables.split()
    }
)


def system_tables() -> Mapping[str, str]:
    """Id (32 hex digits) → `keyspace.table` of every system table of 4.0 to 5.0."""
    return _TABLES


@cache
def builtin_definitions() -> Mapping[str, TableDefinition]:
    """Definitions of `system_schema.*` and `system.local`, by table id."""
    state = SchemaState(ignored=frozenset())
    state.apply(parse_cql(_LAYOUTS, "built-in layouts"))
    definitions = {}
    for name in state.unbound:
        keyspace, table = name.split(".")
        definitions.update(state.bind(keyspace, table, system_table_id(keyspace, table)))
    return MappingProxyType(dict(sorted(definitions.items())))
