"""What `flink.ask` runs, by the interpreter of Flink's environment: nothing of this project is there."""

import json
import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

KINDS = {0: "+I", 1: "-U", 2: "+U", 3: "-D"}


def asked(tables, job):
    options = "".join(
        f", 'debezium-json.{name.replace('_', '-')}' = '{value}'" for name, value in job["options"].items()
    )
    tables.execute_sql("DROP TABLE IF EXISTS t")
    tables.execute_sql(
        f"CREATE TABLE t ({job['columns']}) WITH ("
        f"'connector' = 'filesystem', 'path' = '{job['folder']}', 'format' = 'debezium-json'{options})"
    )
    with tables.execute_sql(job["sql"]).collect() as rows:
        return [[KINDS[row.get_row_kind().value], *row] for row in rows]


def environment(settings):
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in {"parallelism.default": "1", "table.local-time-zone": "UTC", **settings}.items():
        tables.get_config().set(name, value)
    return tables


def main():
    environments = {}
    for job in json.loads(sys.argv[1]):
        settings = json.dumps(job["settings"])
        answer = {"rows": []}
        try:
            if settings not in environments:
                environments[settings] = environment(job["settings"])
            answer["rows"] = asked(environments[settings], job)
        except Exception as error:
            answer["error"] = f"{error}"
        print(json.dumps(answer, default=str), flush=True)


main()
