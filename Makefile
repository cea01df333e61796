# make repro [PROFILE=sample|open|full]   set up and regenerate a profile's tables and figures
# make test                               the tests
# make report [PROFILE=…]                the report as a site, build/site/index.html, from the results in git
# make serve [PORT=8000]                  show it on this machine alone
# make rehearse [SCALE=1/50]              the full profile here, on generated data and tiny models
# make torture [MINUTES=20]               input, faults and kills by the hundred (docs/reliability.md)
# make bench                              ours beside its peers, in one run: results/bench.md
# make sbom                               what is installed, as CycloneDX: build/sbom.cdx.json
# make check                              lint and format, notebooks too; types
# make lock                               write the lock file anew from pyproject.toml; what it has stays, where it fits
# make clean-venv                         delete the environment, to have it made anew
PYTHON ?= $(or $(shell command -v python3.11),python3)
PROFILE ?= sample
PORT ?= 8000
SCALE ?= 1/50
MINUTES ?= 20
BIN := .venv/bin
# uv does not read pip's.
FIND_LINKS := $(if $(PIP_FIND_LINKS),--find-links $(PIP_FIND_LINKS))
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PYTHONHASHSEED := 0
# Where Python keeps no compiled modules, each of many processes compiles its imports: 7 s and more.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: repro test report serve rehearse torture bench sbom check lock clean-venv here
repro: .venv/.installed
	$(BIN)/python -m memrepro repro $(PROFILE)

# The workers are as many as the cores, so that each has one thread; one that dies ends the run.
test: .venv/.installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not gpu and not network" \
		--dist loadfile --no-loadscope-reorder --max-worker-restart 0 \
		-n $$($(BIN)/python -c 'import os; print(min(4, os.cpu_count() or 1))')

# Without a PROFILE: of all profiles that have results.
report: .venv/.installed
	$(BIN)/python -m memrepro.site $(if $(filter file,$(origin PROFILE)),,$(PROFILE))

serve:
	@test -f build/site/index.html || { echo "build/site is not there: run make report first" >&2; exit 1; }
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/site $(PORT)

# In a scratch checkout below build/rehearsal: none of its numbers is a result (docs/scale.md).
rehearse: .venv/.installed
	$(BIN)/python -m memrepro rehearse --scale $(SCALE)

# Not among the tests, as it takes long: the table of its last run is committed.
torture: .venv/.installed
	$(BIN)/python -m tests.torture --minutes $(MINUTES) --output docs/torture.csv

# Two of the peers stay out of the environment; it must have the machine for itself.
bench: .venv/.installed
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target build/peers bm25s==0.3.16 ranx==0.3.21
	$(BIN)/python benchmarks/bench.py

# The tool stays out of the environment that it describes.
sbom: .venv/.installed
	mkdir -p build
	$(BIN)/uv tool run --from cyclonedx-bom==7.5.0 cyclonedx-py environment --pyproject pyproject.toml \
		--output-reproducible --output-file build/sbom.cdx.json $(BIN)/python

check: .venv/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy

# An environment names the folder that it was made in, in its scripts and its link to this package;
# of its files, pyvenv.cfg (`command = … -m venv /place/.venv`) quotes nothing.
here:
	@test ! -e .venv/.installed || grep -qsF " $$(pwd -P)/.venv" .venv/pyvenv.cfg || { \
		echo "this checkout was moved, and .venv belongs to the place where it was: run make clean-venv, then the same command again" >&2; exit 1; }

# A half-made environment is never taken for a whole one: the mark is written last.
.venv/.installed: requirements.lock requirements-torch.txt pyproject.toml | here
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11) and "memrepro needs Python 3.11, found %s.%s at %s: name one with make PYTHON=/path/to/python3.11" % (*sys.version_info[:2], sys.executable))'
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .venv/uv.lock
	@# uv takes a tenth of pip's time; pip knows this machine's own indices.
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --require-hashes -r requirements.lock \
		|| $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	@# Python compiles what a run imports; pip would compile all 2,000 modules of torch first.
	$(if $(FIND_LINKS),$(BIN)/uv pip install --quiet --python $(BIN)/python $(FIND_LINKS),$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile) \
		-r requirements-torch.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

clean-venv:
	rm -rf .venv

lock: here
	$(BIN)/uv pip compile --quiet --constraint requirements-torch.txt --python-version 3.11 --extra cpu --extra dev --generate-hashes --no-emit-package torch \
		$(FIND_LINKS) --no-emit-find-links --no-header --output-file requirements.lock pyproject.toml
	@# The only one without a wheel for every Linux.
	sed -i "s/^pysqlite3==[^ ]*/& ; sys_platform == 'linux' and platform_machine == 'x86_64'/" requirements.lock
