# make run       a virtual environment, then a rehearsal of the whole path on the CPU
# make test      the tests that need no GPU, in parallel
# make test-long what takes longer: kills, built wheels, a browser
# make lint      style, types and layers
PYTHON ?= python3
VENV ?= .venv
PIP = $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-dev.txt
RUN_FLAGS ?= --device cpu --level quick

.PHONY: run test test-long lint clean

run: $(VENV)/.installed
	$(VENV)/bin/preflight run $(RUN_FLAGS)

test: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest -n auto -m "not long" tests

test-long: $(VENV)/.installed-test
	$(VENV)/bin/python -m pytest -n auto -m long tests

lint: $(VENV)/.installed-dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

$(VENV)/.installed: pyproject.toml constraints-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(PIP) -e ".[test]"
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(PIP) -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .import_linter_cache
