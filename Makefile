# Every target sets up .venv by itself; nothing is reinstalled until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Tests and benchmarks run small matrices: more BLAS threads than cores would only slow them down.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
# Tests start hundreds of processes: without bytecode each of them would compile the package anew.
export PYTHONDONTWRITEBYTECODE =

.PHONY: run quick test test-slow test-bank test-dask test-torch test-spark test-plain test-lowest test-python soak check release-check bench evaluate reproduce paper docs clean

run: $(READY)
	mkdir -p build
	$(BIN)/eigenstream run --picture build/run.png --overwrite

# What matters most, in under a minute on two cores: learners are the closed form, chunks do not change a bit, ranks,
# calls happen whole or not at all, monitors, a job that was killed goes on, the public names.
QUICK := tests/test_learners.py tests/test_chunkings.py tests/test_rank_rules.py tests/test_n_components.py \
	tests/test_whole_calls.py tests/test_stream_monitor.py tests/test_resume.py tests/test_public_interface.py \
	"tests/test_kills.py::test_killed_at_any_call_it_ends_as_if_nothing_had_happened[scores.csv-False-17]"
# Of these, what takes longest and is least likely to fail alone.
NOT_QUICK := not (spikes or no_components or stated_rate or blamed or fault_in_a_bank or returns_is_reported or from_its_file)
quick: $(READY)
	$(BIN)/pytest -q -n 2 --dist loadgroup -m "not slow" -k "$(NOT_QUICK)" $(QUICK)

# Tests that share something costly stay in one process (xdist_group). The slowest ten are named at the end.
# One process more than there are cores: some tests wait for kills, browsers and servers.
WORKERS ?= $(shell expr $$(nproc) + 1)
SUITE := -n $(WORKERS) --dist loadgroup --durations 10 -m "not slow and not bank and not dask and not torch and not spark"
test: $(READY)
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/pytest $(SUITE)

test-slow: $(READY)
	$(BIN)/pytest -n auto -m slow

test-bank: $(READY)
	$(BIN)/pytest -m bank tests/test_keyed_bank.py

test-dask: $(READY)
	$(BIN)/pytest -n 0 -m dask tests/test_dask_cluster.py tests/test_documents.py

test-torch: $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[torch]"
	$(BIN)/pytest -n 0 tests/test_torch.py src/eigenstream/integrations/torch src/eigenstream/learners/arrays/torch.py
	$(BIN)/pytest -n 0 -m torch tests/test_documents.py tests/test_examples.py

# Needs Java 17.
test-spark: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev,spark]"
	$(BIN)/pytest tests/test_spark.py
	$(BIN)/pytest -m spark tests/test_documents.py

# The tests of the kernels and of the networks they are checked against: first as plain Python, where coverage sees
# them, then compiled with bounds checked.
KERNELS := -n auto -m "kernel and not slow" tests
test-plain: $(READY)
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest $(KERNELS) -W "ignore:overflow encountered:RuntimeWarning" \
		--cov=eigenstream.learners --cov=eigenstream.network --cov-report=term-missing
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/bounds-checked $(BIN)/pytest $(KERNELS)

# The suite in environments of their own: with the lowest versions that pyproject.toml allows, which may warn of
# things to come, and with another Python (make test-python PYTHON=python3.13).
TEST_TOOLS := "pytest>=8,<9.2" "pytest-xdist>=3.5" "pytest-cov>=5" "hypothesis>=6.100" "pandas>=2.2" playwright
USED := --editable ".[plot,parquet,zarr,redis,xlsx,sql,mqtt,live,metrics,bench]" $(TEST_TOOLS)
test-lowest:
	$(PYTHON) -m venv --clear build/lowest
	$(PYTHON) tests/lowest_versions.py > build/lowest/versions.txt
	build/lowest/bin/python -m pip install --quiet $(USED) --constraint build/lowest/versions.txt
	PYTHONWARNINGS=ignore NUMBA_CACHE_DIR=$(CURDIR)/build/lowest/numba build/lowest/bin/pytest $(SUITE) -W default

test-python:
	$(PYTHON) -m venv --clear build/python
	build/python/bin/python -m pip install --quiet $(USED)
	build/python/bin/python -m pip install --quiet --editable ".[river]"
	NUMBA_CACHE_DIR=$(CURDIR)/build/python/numba build/python/bin/pytest $(SUITE)

# Jobs at work for MINUTES (a log that is rotated, a fleet, Redis) with kills, full disks and slow lookers; writes
# tests/soak/report.md. Needs redis-server.
MINUTES ?= 30
soak: $(READY)
	$(BIN)/python -m tests.soak --minutes $(MINUTES)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Wheel and sdist, built and tried with each of these in environments of their own; both end up in dist.
PYTHONS ?= python3.11 python3.12 python3.13
release-check:
	$(PYTHON) tests/release_check.py $(PYTHONS)

bench: $(READY)
	$(BIN)/python -m benchmarks

# Rivals and data that not every machine has: without them the pages say what was left out.
# A first look: make evaluate OPTIONS="--quick --out build/evaluation/quick"
evaluate: $(READY)
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check "process-improve>=2.2" "pyod>=2"
	$(BIN)/python -m evaluation --fetch $(OPTIONS)
	$(BIN)/python docs/readme_table.py
	-$(BIN)/python paper/article.py

reproduce: $(READY)
	$(BIN)/eigenstream reproduce --out build/reproduction

# The report with all seeds, its tables in the documentation, the reproducibility note (paper/note.md and note.pdf), and
# the short paper with the numbers of the last evaluation (article.md and article.pdf). Needs Chromium.
paper: reproduce
	$(BIN)/python docs/report_tables.py build/reproduction
	$(BIN)/python paper/note.py build/reproduction
	$(BIN)/python paper/article.py

# The documentation, into build/docs; its examples are run, and a warning is an error.
docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	$(BIN)/eigenstream reproduce --quick --out build/site/reproduction
	$(BIN)/sphinx-build -W --keep-going -q -c docs -d build/doctrees . build/docs
	@echo "open build/docs/index.html"

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage
	rm -rf docs/gallery docs/generated
	find src tests benchmarks evaluation docs examples -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@
