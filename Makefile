# Everything a person or CI runs. Each target makes the virtual environment it needs.
# PYTHON=/path/to/python3.12 chooses the interpreter, VENV another folder.

SHELL := /bin/bash
VENV ?= .venv
# Spark 4.0, the oldest that is supported, with the delta-spark that fits it.
OLDEST ?= $(VENV)-spark40
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.NOTPARALLEL:
.PHONY: soak-examples soak-interleavings soak-damage soak-install soak-first-steps soak-oldest-spark soak-benchmarks soak-writer soak-streams soak-images soak-lakehouse soak-alerts soak-serve soak-kafka soak-files soak-flink soak-databases soak-archive soak-snapshot soak-harness soak-migrations soak-cluster soak-hour
.PHONY: demo test quick simulate soak lint format docs wheel java oldest clean

demo: java $(VENV)/.installed
	$(BIN)/cdc-tail demo

# In three queues at once, with a table at the end of where the time went (tests/README.md).
test: java $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/run_tests.py $(BIN)/python $(OLDEST)/bin/python

# About a minute, from the second time on: what every change is tried with, without the tests that took long the last
# time. These, the recorded sets, the damage, Spark and the server are in `test`.
quick: $(VENV)/.installed-dev
	$(PYTEST) tests/unit tests/house tests/demo tests/golden/test_truncate.py --quick -m "not slow and not spark and not server"

# Histories in a simulated environment from one seed on (tests/simulation/README.md). SOURCE=service: of a service's log.
SEED ?= 1
HISTORIES ?= 100
SOURCE ?= node
simulate: $(VENV)/.installed-dev
	PYTHONHASHSEED=0 $(BIN)/python -m tests.simulation --seed $(SEED) --histories $(HISTORIES) --source $(SOURCE) --first --shorten --coverage

# What is too long for `test`, by name: every random example, every damage, the wheel, a user's first steps, and kills
# without end
# (COUNT=7: fewer). `make soak SOAK=examples` runs one of them.
COUNT ?= 50
# Of each history of migrations.
STEPS ?= 100
# Of the hour on a cluster.
MINUTES ?= 60
LONGER := tests/retention/test_interleavings.py::test_longer_interleavings
LONGER_HTTP := tests/retention/test_interleavings_http.py::test_longer_interleavings_over_http
SOAK ?= examples interleavings damage install first-steps oldest-spark benchmarks writer streams images lakehouse alerts serve kafka files flink databases archive snapshot harness migrations cluster hour
soak: java $(VENV)/.installed-dev $(OLDEST)/.installed-dev $(SOAK:%=soak-%)

soak-examples:
	CDC_TAIL_TESTS=all $(PYTEST) tests/unit tests/cli tests/native tests/retention tests/writer $(LONGER:%=--deselect %) $(LONGER_HTTP:%=--deselect %)

soak-interleavings:
	CDC_TAIL_TESTS=all $(PYTEST) -o faulthandler_timeout=7200 $(LONGER) $(LONGER_HTTP)

soak-damage:
	CDC_TAIL_TESTS=all $(PYTEST) tests/damage

soak-install:
	CDC_TAIL_TESTS=all $(PYTEST) tests/install

soak-first-steps:
	CDC_TAIL_TESTS=all $(PYTEST) tests/spark/test_fresh_user.py tests/spark/test_two_users.py tests/spark/test_state.py tests/spark/test_cluster.py
	CDC_TAIL_TESTS=all $(PYTEST) tests/spark/test_commands.py -k recording

soak-oldest-spark:
	CDC_TAIL_TESTS=all $(OLDEST)/bin/python -m pytest tests/spark --ignore tests/spark/test_soak.py

soak-benchmarks:
	CDC_TAIL_TESTS=all $(PYTEST) tests/benchmarks -m "spark or server"

soak-writer:
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/writer/test_kill.py tests/writer/test_run_kill.py -s

soak-streams:
	CDC_TAIL_TESTS=all CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/spark/test_soak.py -s

soak-images:
	CDC_TAIL_TESTS=all CDC_TAIL_SOAK=$(COUNT) $(PYTEST) -o faulthandler_timeout=7200 tests/spark/test_images.py tests/golden/test_bucketed_images.py -s

soak-lakehouse:
	CDC_TAIL_TESTS=all CDC_TAIL_SOAK=$(COUNT) $(OLDEST)/bin/python -m pytest tests/spark/test_soak_lakehouse.py -s

soak-alerts:
	CDC_TAIL_TESTS=all $(PYTEST) tests/server/test_prometheus.py

soak-serve:
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/unit/serve/test_fills_everything.py -s

soak-kafka:
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) -o faulthandler_timeout=3600 tests/server/kafka/test_kills.py tests/server/kafka/test_ship_kills.py tests/server/kafka/test_images.py -s
	CDC_TAIL_TESTS=all $(PYTEST) tests/server/kafka/test_away.py

soak-files:
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/cli/test_ship_kill.py tests/cli/test_ship_away.py -s
	CDC_TAIL_TESTS=all $(PYTEST) tests/cli/test_files.py tests/unit/shipping

soak-flink:
	CDC_TAIL_TESTS=all $(PYTEST) tests/golden/test_envelope_flink.py tests/golden/test_envelope_flink_images.py

soak-databases:
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/unit/sinks/database/test_kills.py tests/unit/sinks/database/test_image_kills.py tests/unit/sinks/database/test_away.py
	CDC_TAIL_TESTS=all $(PYTEST) tests/golden/test_kept_tables.py tests/golden/test_kept_tables_typed.py

soak-archive:
	CDC_TAIL_TESTS=all $(PYTEST) tests/golden/test_archive.py

soak-snapshot:
	CDC_TAIL_TESTS=all CDC_TAIL_SOAK=10 $(PYTEST) -o faulthandler_timeout=1800 tests/server/test_snapshot.py tests/server/test_snapshot_kills.py tests/server/test_snapshot_rows.py tests/server/test_snapshot_spark.py tests/server/test_snapshot_spark_kills.py tests/server/test_compare_million.py tests/server/cluster/test_snapshot.py -s

soak-harness:
	CDC_TAIL_TESTS=all $(PYTEST) tests/server/test_harness.py

soak-migrations:
	CDC_TAIL_SOAK=$(STEPS) $(PYTEST) -o faulthandler_timeout=3600 tests/server/migrations -s

soak-cluster:
	CDC_TAIL_TESTS=all CDC_TAIL_SOAK=$(COUNT) $(PYTEST) -o faulthandler_timeout=3600 tests/server/cluster -s

soak-hour:
	$(BIN)/python -m tests.server.cluster.hour --minutes $(MINUTES) --folder build/hour

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages of docs/ as a site, in build/site: search, and links that are checked.
docs: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo build/site/index.html

# One file to install from, in dist/. With object code, so that nothing is compiled where it is installed.
wheel: $(VENV)/.installed-dev
	$(BIN)/python scripts/object_code.py build/object_code
	CDC_TAIL_OBJECT_CODE=build/object_code $(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@ls dist/*.whl

java:
	@scripts/need-java

$(VENV)/.installed: pyproject.toml
	scripts/make-venv $(VENV) .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml
	scripts/make-venv $(VENV) '.[dev]'
	@touch $@ $(VENV)/.installed

oldest: $(OLDEST)/.installed-dev

$(OLDEST)/.installed-dev: pyproject.toml
	scripts/make-venv $(OLDEST) '.[dev,oldest-spark]'
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
