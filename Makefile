# Two commands for a newcomer: `make demo` and `make test`. One for a contributor: `make check`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo install dev test check format lock clean

demo: install  ## run the whole pipeline on what comes with your Python environment
	@$(BIN)/glassworks demo

install: $(VENV)/.installed  ## make .venv with the locked dependencies

dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info < (3, 13) else f"Glassworks needs Python 3.11 or 3.12, found {sys.version.split()[0]}; run: make PYTHON=python3.11 demo")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: requirements.lock pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.lock
	@touch $@

test: dev  ## install what tests need and run them all
	$(BIN)/python -m pytest

check: dev  ## format, lint, types, import contracts, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

format: dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock:  ## renew both lock files from pyproject.toml, in a fresh environment
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet .
	build/lock/bin/python -m pip freeze --exclude glassworks | sed "s/+cpu$$//" > requirements.lock
	build/lock/bin/python -m pip install --quiet '.[dev]'
	build/lock/bin/python -m pip freeze --exclude glassworks | sed "s/+cpu$$//" | grep -vxFf requirements.lock > requirements-dev.lock

clean:  ## remove the environment and caches; the store stays
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
