# Everything a fresh machine needs: `make demo` shows the program at work, `make test` proves it.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Optional: a folder of ready-made wheels, so that llama-cpp-python need not be compiled.
AMEM_WHEELS ?=
FIND_LINKS := $(if $(AMEM_WHEELS),--find-links $(AMEM_WHEELS))

.PHONY: install demo test check quick docs clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(FIND_LINKS) --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: install
	$(BIN)/amem demo

test: check

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered

quick: install
	$(BIN)/python -m pytest -m "not models"

docs: install
	$(BIN)/python -m tests.command_reference > docs/cli.md

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage
