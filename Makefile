# Two commands for a fresh clone: `make demo` and `make test`. Each sets up what it needs, once. The others are for releases.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
RELEASE := .venv-release
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable

export OMP_NUM_THREADS ?= 1

.PHONY: help demo test docs test-lowest dist audit licenses clean

help:
	@echo "make demo   train a plain model, MW-Net and CMW-Net on mislabeled digits and compare them (two minutes)"
	@echo "make test   run every check: style, types, import rings, tests (ten minutes)"
	@echo "make docs   build the site into build/site: run the gallery, check every link"
	@echo "make test-lowest  run the tests with the lowest supported version of every dependency"
	@echo "make dist   build wheel and sdist twice, compare them, and try the wheel in an empty environment"
	@echo "make audit  look for known vulnerabilities in the versions that are installed"
	@echo "make licenses  list the licenses of what an installation brings, after make dist"
	@echo "make clean  remove the environments and the caches"

demo: $(VENV)/installed
	$(BIN)/reweigh compare demo --methods erm,mw-net,cmw-net --seeds 3 --out runs/demo --overwrite

test: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal --durations 15

# Of root, linkchecker becomes a user without rights, who may not read this folder: it checks a copy.
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	site=$$(mktemp -d) && cp -r build/site/. $$site && chmod -R a+rX $$site \
		&& $(BIN)/linkchecker --config docs/linkcheckerrc --no-status $$site/index.html && rm -r $$site

test-lowest: $(LOWEST)/installed
	$(LOWEST)/bin/pytest -n 2 --ignore tests/architecture

dist: $(RELEASE)/installed
	rm -rf dist build-again $(RELEASE)/empty
	$(RELEASE)/bin/python -m build --outdir dist
	$(RELEASE)/bin/python -m build --outdir build-again
	for file in dist/*; do cmp $$file build-again/$$(basename $$file) || exit 1; done
	$(PYTHON) -m venv $(RELEASE)/empty
	$(RELEASE)/empty/bin/python -m pip install -qq --constraint constraints.txt dist/*.whl
	cd build-again && ../$(RELEASE)/empty/bin/reweigh train demo train.epochs=2 --out run \
		&& ../$(RELEASE)/empty/bin/reweigh issues run --top 3 && ../$(RELEASE)/empty/bin/reweigh report run \
		&& ../$(RELEASE)/empty/bin/reweigh list runs .
	rm -rf build-again

audit: $(RELEASE)/installed
	$(RELEASE)/bin/python -m pip install -qq pip-audit
	$(RELEASE)/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip

licenses:
	$(RELEASE)/empty/bin/python benchmarks/licenses.py

clean:
	rm -rf $(VENV) $(LOWEST) $(RELEASE) dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

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
	@$(INSTALL) '.[test,docs,text,wordllama]' accelerate skorch
	@touch $(VENV)/installed $@

$(VENV)/installed-docs: pyproject.toml constraints.txt | $(BIN)/python
	@$(INSTALL) '.[test,docs]'
	@touch $@

$(LOWEST)/installed: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install -qq --constraint constraints-lowest.txt --editable '.[test]'
	@touch $@

$(RELEASE)/installed:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install -qq build
	@touch $@
