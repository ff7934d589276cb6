# Every target sets up .venv by itself; nothing is reinstalled until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Tests and benchmarks run small matrices: more BLAS threads than cores would only slow them down.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: run test test-slow check bench reproduce docs clean

run: $(READY)
	$(BIN)/eigenstream demo

test: $(READY)
	$(BIN)/pytest -n auto -m "not slow"

test-slow: $(READY)
	$(BIN)/pytest -n auto -m slow

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

reproduce: $(READY)
	$(BIN)/eigenstream reproduce

docs: $(READY)
	$(BIN)/python docs/build.py

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
