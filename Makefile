# Each target makes its own .venv and installs what it needs; the second run finds it there.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
CASES ?= ../shared/conformance
SQL_CASES ?= ../shared/ksql-cases/qtt
# More than there are cores: tests wait for processes and brokers as often as they compute.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
# Tests start hundreds of processes: what they import is compiled once, also where the environment forbids to keep it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-sql test test-kafka check conformance conformance-kafka conformance-spark sql-kafka faults faults-kafka docs bench bench-kafka format clean

demo: $(READY)
	$(BIN)/headrace demo

demo-sql: $(READY)
	$(BIN)/python -m examples.sql.demo

test: $(READY)
	$(BIN)/python -m tests.class_archive
	$(BIN)/pytest -q -rs -n $(WORKERS)

test-kafka: $(READY)
	$(BIN)/pytest -q -rs -n $(WORKERS) tests/kafka

check: $(READY)
	$(BIN)/ruff format --check src tests examples bench
	$(BIN)/ruff check src tests examples bench
	$(BIN)/mypy
	$(BIN)/lint-imports

conformance: $(READY)
	$(BIN)/python -m tests.conformance $(CASES)

conformance-spark: $(READY)
	$(BIN)/python -m tests.conformance $(CASES) --engine batches
	$(BIN)/python -m tests.conformance $(CASES) --engine spark

conformance-kafka: $(READY)
	$(BIN)/python -m tests.conformance $(CASES) --engine kafka --partitions 1,2
	$(BIN)/python -m tests.conformance $(CASES) --engine kafka-spark

sql-kafka: $(READY)
	$(BIN)/python -m tests.ksql $(SQL_CASES) --engine kafka-spark --database --every 57 --failed

faults: $(READY)
	$(BIN)/python -m tests.simulation --seeds 10000
	HEADRACE_FAULTS=long $(BIN)/pytest -q -n 0 tests/faults tests/integration/spark tests/property/test_put_down_kills.py
	$(BIN)/python -m tests.integration.spark.random_kills --kills 200

faults-kafka: $(READY)
	HEADRACE_FAULTS=long $(BIN)/pytest -q -n 0 tests/kafka
	$(BIN)/python -m tests.kafka.chaos

docs: $(READY)
	$(BIN)/python -m tests.settings_page
	$(BIN)/python -m tests.functions_page

bench: $(READY)
	$(BIN)/python -m bench
	$(BIN)/python -m bench.engine
	$(BIN)/python -m bench.sql

bench-kafka: $(READY)
	$(BIN)/python -m bench.kafka

format: $(READY)
	$(BIN)/ruff format src tests examples bench
	$(BIN)/ruff check --fix src tests examples bench

clean:
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
