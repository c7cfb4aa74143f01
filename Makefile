# Everything a fresh machine needs: `make demo` shows the program at work, `make test` proves it;
# `make test-all` also runs what is slow.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RELEASE := $(VENV)-release
# Optional: a folder of ready-made wheels, so that llama-cpp-python need not be compiled.
AMEM_WHEELS ?=
# How llama-cpp-python is compiled where there is no wheel of it: without what amem does not use.
CMAKE_ARGS ?= -DCMAKE_PROJECT_llama_cpp_INCLUDE='$(CURDIR)/release/llama_cpp.cmake'
export CMAKE_ARGS
# How many tests at a time; most of them wait. Those with real models run alone.
WORKERS ?= 3
FIND_LINKS := $(if $(AMEM_WHEELS),--find-links $(AMEM_WHEELS))

.PHONY: install demo test test-all quick coverage audit fuzz docs man session \
	types types-win32 types-darwin dist lock test-wheel clean
PYTEST = $(BIN)/python -m pytest
AT_A_TIME = -n $(WORKERS) --dist worksteal
QUICK_TESTS := tests/system tests/language tests/markdown tests/notes tests/journal tests/vault tests/index tests/search tests/analyzer \
	tests/memory tests/editing tests/ask tests/graph tests/contracts tests/fuzz tests/cli/test_usage.py tests/cli/test_unchanged.py
NODE_TOOLS := tests/node/node_modules/.installed

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(FIND_LINKS) --constraint constraints.txt --editable ".[dev]"
	touch $@

# Programs of others that read what amem writes, for the tests; those tests are skipped without node.
$(NODE_TOOLS): tests/node/package-lock.json
	if command -v npm >/dev/null; then npm ci --prefix tests/node --ignore-scripts --silent; fi
	mkdir -p $(@D) && touch $@

define STATIC_CHECKS
$(BIN)/ruff check .
$(BIN)/ruff format --check .
$(MAKE) --jobs 2 types types-win32 types-darwin
$(BIN)/lint-imports
endef

types:
	$(BIN)/mypy

types-win32 types-darwin: types-%:
	$(BIN)/mypy --platform $* --cache-dir .mypy_cache/$* amem_cli

demo: install
	$(BIN)/amem demo

# What the code is held to while it is written, in minutes: style, types, layers, and every test
# that is not slow. Commands run in forks of one process; property tests try few examples.
test: install $(NODE_TOOLS)
	$(STATIC_CHECKS)
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not models and not slow" $(AT_A_TIME)
	$(PYTEST) -m "models and not slow"

# Everything, as before a release: real models, watchers, faults, a browser, and what is
# known of the packages.
test-all: install $(NODE_TOOLS)
	$(STATIC_CHECKS)
	$(PYTEST) -m "not models" $(AT_A_TIME)
	$(PYTEST) -m models
	$(BIN)/python -m tests.dependency_audit

# Which lines no test runs; takes twice the time of the tests.
coverage: install $(NODE_TOOLS)
	$(PYTEST) -m "not models" $(AT_A_TIME) --cov --cov-report=
	$(PYTEST) -m models --cov --cov-append --cov-report=term:skip-covered

# The rules and what is built right on them, in seconds.
quick: install
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not models and not slow" $(AT_A_TIME) $(QUICK_TESTS)

# Known vulnerabilities of the installed packages; says so where no service can be reached.
audit: install
	$(BIN)/python -m tests.dependency_audit

# The property tests with thousands of examples, each time others.
fuzz: install
	HYPOTHESIS_PROFILE=deep $(BIN)/python -m pytest tests/fuzz tests/memory/test_ownership_machine.py

# What is made from each command's --help: docs/cli.md and the manual pages.
docs: install man
	$(BIN)/python -m tests.command_reference > docs/cli.md

# The terminal session of the README and the one of Neovim, typed and recorded anew.
session: install
	$(BIN)/python -m tests.recorded_session > session.svg.new
	mv session.svg.new docs/images/session.svg
	$(BIN)/python -m tests.recorded_editor > session.svg.new
	mv session.svg.new docs/images/neovim.svg

man: install
	$(BIN)/python -m tests.manual_pages
	$(BIN)/python -m tests.completion_files

$(RELEASE)/.installed: release/requirements.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --requirement $<
	touch $@

# What is published, into dist/: sdist and wheel, built twice alike, their digests, their components.
dist: $(RELEASE)/.installed
	$(RELEASE)/bin/python release/dist.py

# The versions that an installation without extras has, with digests, for every Python and system.
lock: $(RELEASE)/.installed
	$(RELEASE)/bin/uv pip compile pyproject.toml --quiet --universal --python-version 3.10 --generate-hashes \
		--constraint constraints.txt --no-annotate --custom-compile-command "make lock" --upgrade -o requirements.lock

# The wheel in an empty environment of each Python from 3.10 to 3.13 that is here.
test-wheel: $(RELEASE)/.installed
	$(RELEASE)/bin/python release/wheel_tests.py $(QUICK_TESTS)

clean:
	rm -rf $(VENV) $(RELEASE) dist tests/node/node_modules .pytest_cache .mypy_cache .ruff_cache .coverage
