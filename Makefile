# The tasks of this project. CI calls the same targets.

PYTHON ?= python3
BIN := .venv/bin
# Serving needs SERVE only; checks and tests need VENV.
SERVE := .venv/.serve
VENV := .venv/.stamp
SYSTEM := .venv/.system
TEST_TOOLS := .venv/.test-tools
# What the deep tests need.
TEST_STAMPS := $(TEST_TOOLS) .proxies/.stamp .openapi/.stamp .conformance/.stamp .console/.stamp .venv-minimcp/.stamp
SERVERS := dovetail dovetail-gateway dovetail-openapi dovetail-redis dovetail-console dovetail-serverkit dovetail-vault dovetail-browser dovetail-graph dovetail-design
PYPROJECTS := $(wildcard packages/*/pyproject.toml)
NEED := tools/system_packages.sh
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Tests start some thousand Python processes; without compiled files each takes twice the time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help setup serve check format contracts test test-all test-lowest test-pythons cover durability packages types fuzz gallery console-pictures docs site api changelog openapi conformance audit bench bench-setup soak cluster clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup: $(VENV) ## create .venv with everything that development needs

$(SERVE): $(PYPROJECTS)
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv || { $(NEED) venv && $(PYTHON) -m venv --clear .venv; }
	@$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	@echo "Installing the servers and their libraries into .venv (about 650 MB) ..."
	@for package in $(SERVERS); do \
	  echo "  $$package"; $(BIN)/pip install --quiet --editable packages/$$package || exit 1; done
	@touch $@

$(VENV): pyproject.toml $(SERVE)
	@echo "Installing the development tools ..."
	@$(BIN)/pip install --quiet --editable packages/dovetail-check --group dev --group peers
	@touch $@

# Programs that are not Python packages; only missing ones are installed.
$(SYSTEM): $(NEED) $(SERVE)
	@$(NEED) servers
	@touch $@

# Programs that only deep tests use.
$(TEST_TOOLS): $(NEED) $(SYSTEM)
	@$(NEED) tests
	@touch $@

.proxies/.stamp:
	@$(NEED) proxies
	@touch $@

# Documents of real APIs, for the tests of servers made from OpenAPI.
.openapi/.stamp: tools/openapi_documents.py
	@$(NEED) npm
	@echo "Fetching OpenAPI documents into .openapi ..."
	@$(PYTHON) -m tools.openapi_documents .openapi
	@touch $@

# Checks the pages of the console for accessibility.
.console/.stamp: Makefile
	@$(NEED) npm
	@npm install --prefix .console --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error axe-core@4
	@touch $@

serve: $(SERVE) $(SYSTEM) ## serve the ready servers at http://127.0.0.1:8000, with a sample vault
	@$(BIN)/dovetail serve all --vault sample=examples/vault --http 8000

check: $(VENV) $(SYSTEM) ## check format, lint, types and repository rules
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@$(MAKE) contracts

format: $(VENV) ## format, and fix what ruff can fix
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

contracts: $(VENV) $(SYSTEM) ## test the repository rules: layers, names, public API, docs
	@$(BIN)/pytest --quiet --numprocesses=2 --dist=loadfile tests/contracts

# The tests that take every branch of the gated layers. Only they are traced: tracing doubles the
# time of a test.
COVERED := packages/dovetail/tests/unit
FAST := $(BIN)/pytest --quiet --tier=fast --numprocesses=2 --dist=worksteal --ignore=tests/contracts

# The contracts are part of `make check`. For `make test-all`, the same tests run in two parts, one
# of them traced.
test: $(VENV) ## run the fast tests: Python and pip are enough
ifeq ($(filter test-all,$(MAKECMDGOALS)),)
	@$(FAST)
else
	@$(FAST) --cov --cov-report= $(COVERED)
	@$(BIN)/coverage json --quiet -o coverage.json
	@$(BIN)/python -m tools.coverage_gate coverage.json
	@$(FAST) --ignore=$(COVERED)
endif

test-all: test $(SYSTEM) $(TEST_STAMPS) ## run all tests and the branch coverage gate; installs what they need
	@$(BIN)/pytest --quiet --tier=deep --numprocesses=4 --dist=worksteal

# The framework's and the checker's tests, with the ready servers left out.
SUITES := packages/dovetail/tests packages/dovetail-check/tests packages/dovetail-gateway/tests packages/dovetail-openapi/tests packages/dovetail-redis/tests packages/dovetail-console/tests
SUITE_INSTALL := --editable 'packages/dovetail[traces]' --editable packages/dovetail-gateway --editable packages/dovetail-openapi --editable packages/dovetail-redis --editable packages/dovetail-console --editable packages/dovetail-check --group test --group peers

test-lowest: .venv-lowest/.stamp $(SYSTEM) $(TEST_STAMPS) ## test framework and checker with the oldest allowed libraries
	@.venv-lowest/bin/pytest --quiet --numprocesses=4 --dist=worksteal --tier=all $(SUITES)

.venv-lowest/.stamp: pyproject.toml $(PYPROJECTS) tools/lowest.py
	@test -x .venv-lowest/bin/pip || $(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/pip install --quiet --upgrade 'pip>=25.1'
	@.venv-lowest/bin/python -m tools.lowest packages/dovetail packages/dovetail-check packages/dovetail-gateway packages/dovetail-openapi packages/dovetail-redis packages/dovetail-console > .venv-lowest/constraints.txt
	@echo "Installing the oldest allowed libraries into .venv-lowest ..."
	@.venv-lowest/bin/pip install --quiet --constraint .venv-lowest/constraints.txt $(SUITE_INSTALL)
	@touch $@

test-pythons: $(SYSTEM) $(TEST_STAMPS) ## test framework and checker on every Python from 3.12 on that is installed
	@versions=$$($(BIN)/python -m tools.pythons); \
	  test -n "$$versions" || { echo "No Python 3.12 or newer on PATH or in ~/.pyenv/versions."; exit 1; }; \
	  for version in $$versions; do $(MAKE) test-python-$$version || exit 1; done

test-python-%: .venv-%/.stamp
	@echo "Testing on Python $* ..."
	@.venv-$*/bin/pytest --quiet --numprocesses=4 --dist=worksteal --tier=all $(SUITES)

.PRECIOUS: .venv-3.%/.stamp
.venv-3.%/.stamp: pyproject.toml $(PYPROJECTS)
	@test -x .venv-3.$*/bin/pip || "$$($(BIN)/python -m tools.pythons 3.$*)" -m venv .venv-3.$*
	@.venv-3.$*/bin/pip install --quiet --upgrade 'pip>=25.1'
	@echo "Installing into .venv-3.$* ..."
	@.venv-3.$*/bin/pip install --quiet $(SUITE_INSTALL)
	@touch $@

cover: $(VENV) $(SYSTEM) .proxies/.stamp ## show the coverage by the unit tests of the framework, line by line (htmlcov/)
	@$(BIN)/pytest --quiet --numprocesses=4 --dist=worksteal --cov --cov-report= --tier=all packages/dovetail/tests/unit packages/dovetail/tests/deep/unit
	@$(BIN)/coverage html --quiet
	@$(BIN)/coverage report

# `make test-all` runs these with a tenth of the kills, edits, links, queries and fetches, or less.
DURABLE := packages/dovetail/tests/deep/durability packages/*/tests/deep/*/test_durability.py \
  $(addprefix packages/dovetail-vault/tests/deep/vault/test_,nothing_lost.py moving_many.py same_files_as_ripgrep.py) \
  packages/dovetail-vault/tests/vault/test_attacks.py \
  $(addprefix packages/dovetail-browser/tests/deep/browser/test_,no_orphans.py memory.py)

durability: $(VENV) $(SYSTEM) ## run the durability tests in full: 100 kills, 1,000 edits, 1,000 fetches; half an hour
	@DURABILITY_RUNS=100 CLUSTER_KILLS=20 CLUSTER_TASKS=1000 BROWSER_KILL_RUNS=100 BROWSER_FETCHES=1000 $(BIN)/pytest --quiet --timeout=0 $(DURABLE)

gallery: $(VENV) $(SYSTEM) ## draw docs/gallery.md with the design server
	@$(BIN)/python -m tools.gallery

packages: $(VENV) ## build each wheel and install it in an empty environment
	@$(BIN)/python -m tools.check_packages

types: $(VENV) .pyright/.stamp ## measure how much of the public API type checkers know without inference
	@$(BIN)/python -m tools.type_completeness .pyright/node_modules/.bin/pyright

.pyright/.stamp: Makefile
	@$(NEED) npm
	@npm install --prefix .pyright --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error pyright@1
	@touch $@

fuzz: $(VENV) .proxies/.stamp ## run the property tests with many more examples, and more damaged lines
	@FUZZ_LINES=200000 $(BIN)/pytest --quiet --timeout=0 packages/dovetail/tests/deep/fuzz
	@CORPUS_STRIDE=1 $(BIN)/pytest --quiet --timeout=0 packages/dovetail/tests/deep/http_corpus
	@HOSTILE_DOCUMENTS=10000 $(BIN)/pytest --quiet --timeout=0 packages/*/tests/deep/*/test_hostile_*.py
	@$(BIN)/pytest --quiet -m hypothesis --hypothesis-profile=fuzz --timeout=0

console-pictures: $(VENV) $(SYSTEM) ## draw the pictures of the console in docs/images
	@$(BIN)/python -m tools.console_screenshots

openapi: $(VENV) .openapi/.stamp ## make servers from OpenAPI documents of real APIs, all of them, and call every tool
	@OPENAPI_STRIDE=1 $(BIN)/pytest --quiet --timeout=0 packages/dovetail-openapi/tests/deep/openapi

conformance: $(VENV) .conformance/.stamp .proxies/.stamp ## run the official conformance suite and other clients, over HTTP
	@$(BIN)/python qa/conformance/run.py

# Not `npm ci`: npm leaves optional packages of other platforms out of the lock file and then
# reports them as missing. Install scripts are not needed, so they are not run.
.conformance/.stamp: qa/conformance/package.json qa/conformance/package-lock.json
	@$(NEED) npm
	@mkdir -p .conformance && cp $^ .conformance/
	@cd .conformance && npm install --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

audit: $(VENV) .venv-minimcp/.stamp .audits/.stamp ## check servers of other projects: docs/audits
	@$(BIN)/python -m qa.audits.run

.audits/.stamp: qa/audits/package.json qa/audits/requirements.txt
	@$(NEED) npm
	@mkdir -p .audits/node && cp qa/audits/package.json .audits/node/
	@cd .audits/node && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error
	@test -x .audits/python/bin/pip || $(PYTHON) -m venv .audits/python
	@.audits/python/bin/pip install -qq --requirement qa/audits/requirements.txt
	@touch $@

docs: $(VENV) ## run every example in README.md and docs/
	@$(BIN)/pytest --quiet tests/contracts/test_docs_examples.py

site: .venv-site/.stamp ## build the documentation into site/, with warnings as errors, and check links and names
	@.venv-site/bin/python -m tools.site

.venv-site/.stamp: pyproject.toml
	@test -x .venv-site/bin/pip || $(PYTHON) -m venv .venv-site
	@.venv-site/bin/pip install --quiet --upgrade 'pip>=25.1'
	@.venv-site/bin/pip install --quiet --group docs
	@touch $@

api: $(VENV) ## update tests/contracts/public_api.txt
	@$(BIN)/python -m tools.public_api --write

changelog: $(VENV) ## merge changes/ into CHANGELOG.md: make changelog VERSION=1.2.0
	@$(BIN)/python -m tools.changelog $(VERSION)

bench: bench-setup ## run the benchmarks; one part: make bench ONLY=http
	@$(BIN)/python qa/bench/run.py $(if $(ONLY),--only $(ONLY))

bench-setup: $(VENV) .venv-minimcp/.stamp .proxies/.stamp ## install what the benchmarks need: minimcp, wrk, taskset, npm
	@$(NEED) bench

.venv-minimcp/.stamp: pyproject.toml
	@test -x .venv-minimcp/bin/python || $(PYTHON) -m venv .venv-minimcp
	@.venv-minimcp/bin/pip install -qq --upgrade 'pip>=25.1'
	@.venv-minimcp/bin/pip install -qq --group minimcp
	@touch $@

soak: $(VENV) ## run the HTTP load test: connections, sessions, streams, killed clients; minutes
	@$(NEED) soak
	@$(BIN)/python -m qa.soak.run

cluster: $(VENV) .proxies/.stamp ## measure what a cluster promises: four processes on Redis behind haproxy; minutes
	@$(NEED) soak
	@PYTHONPATH=packages/dovetail $(BIN)/python -m qa.cluster.run

clean: ## remove build and test output; environments are kept
	@rm -rf build dist site htmlcov coverage.json .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find packages tests tools examples qa -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
