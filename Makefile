# Two commands on a fresh machine: make demo, make test. Everything else is for contributors.
PYTHON ?= python3
BIN := .venv/bin
PEERS := $(patsubst benchmarks/peers/%.txt,.bench/%/ready,$(wildcard benchmarks/peers/*.txt))

.PHONY: demo serve test test-all lint check bench-envs clean

INSTALL = $(PYTHON) -m venv .venv && $(BIN)/python -m pip install --quiet --upgrade "pip>=25.1" && \
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

# What a user needs; and what tests and checks need besides, which is as large again.
.venv/package: pyproject.toml constraints.txt
	$(INSTALL) .
	touch $@

.venv/tools: pyproject.toml constraints.txt
	$(INSTALL) ".[postgres,shap,dask]" --group test --group check
	touch .venv/package $@

demo: .venv/package
	$(BIN)/discreet demo

.venv/service: pyproject.toml constraints.txt
	$(INSTALL) ".[service]"
	touch .venv/package $@

# A page at http://127.0.0.1:8417, with a key for every role.
serve: .venv/service
	$(BIN)/discreet serve --demo discreet-service

# Every core has a worker already: threads of numerical libraries would wait for each other, and spin.
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(BIN)/python -m pytest -n auto --dist worksteal

# Every plan, statement and page, but not with every argument; CI runs test-all.
test: .venv/tools
	$(PYTEST) -m "not slow"

test-all: .venv/tools
	$(PYTEST)

lint: .venv/tools
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint
	$(BIN)/python -m pytest -q tests/docs

bench-envs: $(PEERS)

# The mark is made last, so that half an environment is not taken for one.
.bench/%/ready: benchmarks/peers/%.txt
	rm -rf .bench/$*
	$(PYTHON) -m venv .bench/$*
	.bench/$*/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	.bench/$*/bin/python -m pip install --quiet --requirement $<
	touch $@

clean:
	rm -rf .venv .bench .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis discreet-demo discreet-service benchmarks/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
