# make repro [PROFILE=sample|open|full]   set up and regenerate a profile's tables and figures
# make test                               the tests
# make check                              lint, format, types, notebooks
# make lock                               write the lock files anew from pyproject.toml
PYTHON ?= $(or $(shell command -v python3.11),python3)
PROFILE ?= sample
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONHASHSEED := 0

.PHONY: repro test check lock clean-venv
repro: .venv/.installed
	$(BIN)/memrepro repro $(PROFILE)

test: .venv/.installed
	$(BIN)/python -m pytest -m "not gpu and not network"

check: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_notebooks.py tests/test_setup.py

# A half-made environment is never taken for a whole one: the mark is written last.
.venv/.installed: requirements.lock requirements-torch.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "memrepro needs Python 3.11, found %s.%s at %s: name one with make PYTHON=/path/to/python3.11" % (*sys.version_info[:2], sys.executable))'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-torch.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

lock:
	$(BIN)/uv pip compile --quiet --python-version 3.11 --extra dev --generate-hashes --no-emit-package torch \
		$(if $(PIP_FIND_LINKS),--find-links $(PIP_FIND_LINKS)) --no-emit-find-links --no-header --output-file requirements.lock pyproject.toml
