"""What `flink.query` runs, by the interpreter of Flink's environment: nothing of this project is there."""

import json
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

job = json.loads(sys.argv[1])
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
tables.get_config().set("parallelism.default", "1")
options = "".join(f", 'debezium-json.{name.replace('_', '-')}' = '{value}'" for name, value in job["options"].items())
tables.execute_sql(
    f"CREATE TABLE t ({job['columns']}) WITH ("
    f"'connector' = 'filesystem', 'path' = '{job['path']}', 'format' = 'debezium-json'{options})"
)
result = tables.execute_sql(job["sql"])
with result.collect() as rows:
    for row in rows:
        kind = {0: "+I", 1: "-U", 2: "+U", 3: "-D"}[row.get_row_kind().value]
        print(json.dumps([kind, *row], default=str), flush=True)
