# `make demo` and `make test` do everything on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST_ARGS ?= -n 2 --dist worksteal

.PHONY: demo test lint types layers check-tests bench clean

demo: $(READY)
	$(BIN)/python examples/digits.py

test: lint types layers check-tests

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . \
		pytest pytest-xdist hypothesis pandas polars anndata ruff basedpyright import-linter
	touch $(READY)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/basedpyright

layers: $(READY)
	$(BIN)/lint-imports

check-tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

bench: $(READY)
	$(BIN)/python benchmarks/loop.py

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
