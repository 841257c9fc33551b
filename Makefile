# Two commands for a fresh clone: `make demo` and `make test`. Each sets up what it needs, once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable

export OMP_NUM_THREADS ?= 1

.PHONY: help demo test clean

help:
	@echo "make demo   train a plain model, MW-Net and CMW-Net on mislabeled digits and compare them (two minutes)"
	@echo "make test   run every check: style, types, import rings, tests (five minutes)"
	@echo "make clean  remove the environment and the caches"

demo: $(VENV)/installed
	$(BIN)/reweigh compare demo --methods erm,mw-net,cmw-net --seeds 3 --out runs/demo --overwrite

test: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "reweigh needs Python 3.11 or later; say which: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp says what is installed; only a change of the requirements makes it stale.
$(VENV)/installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV), once; this may take some minutes"
	@$(INSTALL) .
	@touch $@

$(VENV)/installed-test: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing into $(VENV), once; this may take some minutes"
	@$(INSTALL) '.[test]'
	@touch $(VENV)/installed $@
