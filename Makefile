# Two commands on a fresh machine: make demo, make test. Everything else is for contributors.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check bench-envs clean

.venv: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[postgres,shap,dask]" --group test --group check
	touch .venv

demo: .venv
	$(BIN)/discreet demo

test: .venv
	$(BIN)/python -m pytest -n auto --dist loadgroup

check: .venv
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/docs

bench-envs: .venv
	@echo "No benchmark needs an environment of its own yet."

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis discreet-demo benchmarks/results
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
