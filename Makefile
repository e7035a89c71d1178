SHELL := bash -eu -o pipefail
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN ?= report
TAG ?= default
JOBS ?= 2
TEST_JOBS ?= 2
TORCH_INDEX ?=
# The small run, which tests read; conftest.py names the place, too.
SMOKE := CASEBOOK_ROOT=_build/smoke SOURCE_DATE_EPOCH=1767225600 $(BIN)/casebook
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export HF_HUB_OFFLINE ?= 1
# Otherwise each of the many processes of a test run compiles the library anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help report test smoke lab lint bench validate faults lock clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(BIN)/casebook: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(if $(TORCH_INDEX),$(BIN)/pip install --quiet --index-url $(TORCH_INDEX) $(shell grep '^torch==' requirements.lock))
	$(BIN)/pip install --quiet --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@

$(VENV)/.test: $(BIN)/casebook requirements-test.lock
	$(BIN)/pip install --quiet --requirement requirements-test.lock
	touch $@

$(VENV)/.lab: $(BIN)/casebook
	$(BIN)/pip install --quiet --constraint requirements.lock --editable '.[lab]'
	$(BIN)/jupyter labextension disable --level=sys_prefix @jupyterlab/apputils-extension:announcements
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/pip install --quiet --constraint requirements-test.lock --editable '.[bench]'
	touch $@

report: $(BIN)/casebook ## pull the data, run the experiments, build the book, say where it is
	$(BIN)/casebook report --run $(RUN) --tag $(TAG) --workers $(JOBS)

test: $(VENV)/.test lint ## lint, build the smoke book strictly, run all quick tests, compare with the reference
	$(SMOKE) run --run smoke --tag smoke --workers $(JOBS)
	$(SMOKE) build --run smoke
	tests=0; $(BIN)/pytest --numprocesses $(TEST_JOBS) --dist loadfile --no-loadscope-reorder || tests=$$?; \
	reference=0; $(BIN)/python tests/reference.py _build/smoke/results/smoke || reference=$$?; \
	echo "exit codes: tests $$tests, comparison with the reference $$reference"; \
	exit $$((tests ? tests : reference))

smoke: $(VENV)/.test ## make results/smoke again, the reference that nbval compares with
	$(SMOKE) run --run smoke --tag smoke --workers $(JOBS) --force
	rm -rf results/smoke && mkdir -p results/smoke
	cd _build/smoke/results/smoke && cp -r notebooks numbers.json contrasts.json $(CURDIR)/results/smoke

lab: $(VENV)/.lab ## open JupyterLab on the notebooks
	TQDM_DISABLE=1 $(BIN)/jupyter lab notebooks

lint: $(VENV)/.test ## check style, formatting and that notebooks hold no outputs
	$(BIN)/ruff check
	$(BIN)/ruff check --select E501 --config lint.pycodestyle.max-line-length=100 lib notebooks
	$(BIN)/ruff format --check
	$(BIN)/nbstripout --verify --keep-id notebooks/*.ipynb

bench: $(VENV)/.bench ## measure speed and memory against peers; writes docs/benchmarks.csv
	$(BIN)/python tests/benchmarks/run.py

validate: $(VENV)/.test ## simulate how often tests and intervals err; writes the book's tables
	$(BIN)/python tests/validation/intervals.py book/methods/validity.csv
	$(BIN)/python tests/validation/preference_levels.py
	$(BIN)/python tests/validation/agreement_coverage.py

faults: $(VENV)/.test ## kills, hostile files, wheel, tutorials, every page; writes docs/faults.csv
	$(SMOKE) run --run smoke --tag smoke --workers $(JOBS)
	CASEBOOK_WRITE_FAULTS=1 $(BIN)/pytest -m faults tests
	CASEBOOK_TWICE=1 $(BIN)/pytest results/smoke/notebooks

lock: ## pin again everything that pyproject.toml asks for
	bash .ci/lock

clean: ## remove what can be made again, but not the results
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
