# Everything a person or CI runs. Each target makes the virtual environment it needs.
# PYTHON=/path/to/python3.12 chooses the interpreter, VENV another folder.

SHELL := /bin/bash
VENV ?= .venv
# Spark 4.0, the oldest that is supported, with the delta-spark that fits it.
OLDEST ?= $(VENV)-spark40
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.NOTPARALLEL:
.PHONY: demo test quick soak lint format java clean

demo: java $(VENV)/.installed
	$(BIN)/cdc-tail demo

# Twice what reads: the first run reads with the compiled code (tests/conftest.py; a fresh clone compiles it in its first
# tests, a minute), the second one, under four minutes of one core, with the plain reader, which is all there is
# where numba is not installed.
# The Spark tests run on the newest Spark and, but for the slow ones, on the oldest.
test: java lint $(OLDEST)/.installed-dev
	scripts/run-tests $(BIN)/python $(OLDEST)/bin/python

# About a minute: what every change is tried with. The recorded sets, the damage, Spark and the server are in `test`.
quick: $(VENV)/.installed-dev
	$(PYTEST) tests/unit tests/house tests/demo tests/golden/test_truncate.py -m "not slow and not spark and not server"

# Streams into parquet and into a database, killed fifty times each while a server writes: half an hour. Before that a
# service with a log of its own, killed three hundred times: five minutes. COUNT=7: fewer.
COUNT ?= 50
soak: java $(VENV)/.installed-dev
	CDC_TAIL_SOAK=$(COUNT) $(PYTEST) tests/writer/test_kill.py tests/spark/test_soak.py -s

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

java:
	@scripts/need-java

$(VENV)/.installed: pyproject.toml
	scripts/make-venv $(VENV) .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml
	scripts/make-venv $(VENV) '.[dev]'
	@touch $@ $(VENV)/.installed

$(OLDEST)/.installed-dev: pyproject.toml
	scripts/make-venv $(OLDEST) '.[dev,delta]'
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
