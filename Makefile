# Two commands on a fresh machine:
#   make train   set up, then train a digit classifier with live progress and show the result
#   make test    set up, then run every check

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help train test run-tests test-machines test-libraries lint format types check-python bench docs clean

help: ## Show these commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

check-python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "MiniTorch needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V). Try: make PYTHON=python3.12 ..."; exit 1; }

$(BIN)/python: | check-python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.train: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[train]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.train

train: $(VENV)/.train ## Train a digit classifier on real data, from scratch
	$(BIN)/minitorch train digits

# Types are checked beside the tests, and what is found is shown after them. The tests start hundreds
# of processes, which must not each compile the library anew: .pyc files are written.
test: $(VENV)/.dev ## Run every check: style, types, tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	@$(MAKE) --no-print-directory --jobs 2 types run-tests; status=$$?; cat $(VENV)/types.txt; exit $$status

types:
	@echo $(BIN)/pyright
	@$(BIN)/pyright > $(VENV)/types.txt

run-tests: export PYTHONDONTWRITEBYTECODE =
run-tests:
	$(BIN)/python -m pytest -q -n 3 --dist worksteal

test-machines: $(VENV)/.dev ## Run the tests that depend on the processor, imitating other processors
	$(BIN)/python -m tests.machines

test-libraries: $(VENV)/.dev ## Run programs of other libraries on MiniTorch and on PyTorch, and compare (ARGS=--record saves the results)
	$(BIN)/python -m tests.libraries $(ARGS)

lint: $(VENV)/.dev ## Check style and types only
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

bench: $(VENV)/.dev ## Measure speed against NumPy and PyTorch
	$(BIN)/python benchmarks/course.py

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

docs: $(VENV)/.docs ## Build the documentation site; warnings are errors
	$(BIN)/python -m docs.site.build

clean: ## Remove everything that was built
	rm -rf $(VENV) .venv-libraries build dist .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
