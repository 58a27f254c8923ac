# The tasks of this project; CI calls the very same targets (.ci/run).

PYTHON ?= python3
BIN := .venv/bin
# Serving needs SERVE alone; checks and tests need VENV.
SERVE := .venv/.serve
VENV := .venv/.stamp
SYSTEM := .venv/.system
PACKAGES := dovetail dovetail-check dovetail-serverkit dovetail-vault dovetail-browser dovetail-graph dovetail-design
PYPROJECTS := $(PACKAGES:%=packages/%/pyproject.toml)
EDITABLE := $(PACKAGES:%=--editable packages/%)
# command:Debian package, for tests that need the real thing
PROGRAMS := chromium:chromium
# library:Debian package, for what draws pictures
LIBRARIES := libEGL.so.1:libegl1 libGL.so.1:libgl1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help setup serve check format contracts test cover durability fuzz gallery docs api changelog conformance audit bench bench-setup soak clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(VENV) ## create .venv with everything that development needs

$(SERVE): $(PYPROJECTS)
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || { apt-get install -y python3-venv && $(PYTHON) -m venv --clear .venv; }
	@$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	@echo "Installing the servers and their libraries (about 300 MB) into .venv ..."
	@$(BIN)/pip install $(EDITABLE)
	@touch $@

$(VENV): pyproject.toml $(SERVE)
	@echo "Installing the development tools ..."
	@$(BIN)/pip install --quiet --group dev --group peers
	@touch $@

# Programs that are no Python packages; only what is missing is installed.
$(SYSTEM): Makefile $(SERVE)
	@for pair in $(PROGRAMS); do command -v $${pair%%:*} >/dev/null || missing="$$missing $${pair##*:}"; done; \
	  for pair in $(LIBRARIES); do ldconfig -p | grep -q $${pair%%:*} || missing="$$missing $${pair##*:}"; done; \
	  test -z "$$missing" || { echo "Installing$$missing ..." && apt-get update -qq && apt-get install -q -y --no-install-recommends $$missing; }
	@touch $@

serve: $(SERVE) $(SYSTEM) ## the ready servers at http://127.0.0.1:8000, on the sample vault
	@$(BIN)/dovetail serve all --vault sample=examples/vault --http 8000

check: $(VENV) $(SYSTEM) ## format, lint, types, contracts
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(MAKE) contracts

format: $(VENV) ## let ruff format and mend what it can
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

contracts: $(VENV) $(SYSTEM) ## the rules of the house: layers, names, public API, docs
	@$(BIN)/pytest --quiet tests/contracts

test: $(VENV) $(SYSTEM) .venv-minimcp/.stamp ## the whole suite, then the branch coverage gate
	@$(BIN)/pytest --quiet --numprocesses=3 --dist=loadfile --cov --cov-report=
	@$(BIN)/coverage json --quiet -o coverage.json
	@$(BIN)/python -m tools.coverage_gate coverage.json

cover: test ## the coverage of the last test run, line by line (htmlcov/)
	@$(BIN)/coverage html --quiet
	@$(BIN)/coverage report

# The suite runs these with a tenth of the kills, edits, links, queries and fetches, or less.
DURABLE := packages/dovetail/tests/durability packages/*/tests/*/test_durability.py \
  $(addprefix packages/dovetail-vault/tests/vault/test_,nothing_lost.py moving_many.py same_files_as_ripgrep.py attacks.py) \
  $(addprefix packages/dovetail-browser/tests/browser/test_,no_orphans.py memory.py)

durability: $(VENV) $(SYSTEM) ## in full what CI runs in small: 100 kills, 1,000 edits, 1,000 fetches; half an hour
	@DURABILITY_RUNS=100 BROWSER_KILL_RUNS=100 BROWSER_FETCHES=1000 $(BIN)/pytest --quiet --timeout=0 $(DURABLE)

gallery: $(VENV) $(SYSTEM) ## draw what the design studio can: docs/gallery.md
	@$(BIN)/python -m tools.gallery

fuzz: $(VENV) ## the property tests with many more examples
	@$(BIN)/pytest --quiet -m hypothesis --hypothesis-profile=fuzz --timeout=0

conformance: $(VENV) .conformance/.stamp ## the official suite and other people's clients, over HTTP
	@$(BIN)/python conformance/run.py

# Not `npm ci`: npm leaves other platforms' optional packages out of the lock, and then misses
# them. Scripts of packages are not run: none is needed, and they would run as you.
.conformance/.stamp: conformance/package.json conformance/package-lock.json
	@command -v npm >/dev/null || apt-get install -qq -y npm
	@mkdir -p .conformance && cp $^ .conformance/
	@cd .conformance && npm install --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

audit: $(VENV) .venv-minimcp/.stamp .audits/.stamp ## check servers that other people wrote: docs/audits
	@$(BIN)/python -m audits.run

.audits/.stamp: audits/package.json audits/requirements.txt
	@command -v npm >/dev/null || apt-get install -qq -y npm
	@mkdir -p .audits/node && cp audits/package.json .audits/node/
	@cd .audits/node && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error
	@test -x .audits/python/bin/pip || $(PYTHON) -m venv .audits/python
	@.audits/python/bin/pip install -qq --requirement audits/requirements.txt
	@touch $@

docs: $(VENV) ## run every example of README.md and docs/
	@$(BIN)/pytest --quiet tests/contracts/test_docs_examples.py

api: $(VENV) ## write the public API down again after a wanted change
	@$(BIN)/python -m tools.public_api --write

changelog: $(VENV) ## fold changes/ into CHANGELOG.md: make changelog VERSION=1.2.0
	@$(BIN)/python -m tools.changelog $(VERSION)

bench: bench-setup ## measure against the peers; one part: make bench ONLY=http
	@$(BIN)/python bench/run.py $(if $(ONLY),--only $(ONLY))

bench-setup: $(VENV) .venv-minimcp/.stamp ## what the benchmark needs: the peer on mcp 1, wrk, taskset, npm
	@command -v wrk >/dev/null || apt-get install -qq -y wrk
	@command -v taskset >/dev/null || apt-get install -qq -y util-linux
	@command -v npm >/dev/null || apt-get install -qq -y npm

.venv-minimcp/.stamp: pyproject.toml
	@test -x .venv-minimcp/bin/python || $(PYTHON) -m venv .venv-minimcp
	@.venv-minimcp/bin/pip install -qq --upgrade 'pip>=25.1'
	@.venv-minimcp/bin/pip install -qq --group minimcp
	@touch $@

soak: $(VENV) ## load and time over HTTP: connections, sessions, streams, killed clients; minutes
	@command -v wrk >/dev/null || apt-get install -qq -y wrk
	@$(BIN)/python -m soak.run

clean: ## remove what the tools leave behind; the environments stay
	@rm -rf build dist htmlcov coverage.json .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find packages tests tools examples bench soak -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
