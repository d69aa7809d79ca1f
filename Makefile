# Everything a person or CI runs. Each target makes the virtual environment it needs.
# PYTHON=/path/to/python3.12 chooses the interpreter, VENV another folder.

SHELL := /bin/bash
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.NOTPARALLEL:
.PHONY: demo test quick lint format java clean

demo: java $(VENV)/.installed
	$(BIN)/cdc-tail demo

# Twice what reads: the first run reads with the compiled code (tests/conftest.py; a fresh clone compiles it in its first
# tests, half a minute), the second one, under four minutes of one core, with the plain reader, which is all there is
# where numba is not installed.
test: java lint
	scripts/run-tests $(BIN)/python

# About a minute: what every change is tried with. The recorded sets, the damage, Spark and the server are in `test`.
quick: $(VENV)/.installed-dev
	$(PYTEST) tests/unit tests/house tests/demo tests/golden/test_truncate.py -m "not slow and not spark and not server"

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

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
