# Commands for people and for CI. Each sets up what it needs in .venv and is quick the second time.
.POSIX:
.SUFFIXES:

BIN = .venv/bin
# The interpreter to make .venv with; empty means the first of python3, python3.13, 3.12, 3.11 that will do.
PYTHON =
# `make demo`: DIR= where its state goes, KEEP=1 leaves it running, CLUSTER=real runs it on a real control plane.
DIR =
KEEP =
CLUSTER = simulated

.PHONY: help venv demo control-plane test test-slow conformance check format docs clean
.PHONY: bench bench-sandbox bench-autoscale
.PHONY: check-format check-lint check-types check-imports

help: ## show the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | while IFS='|' read -r name text; do printf '%-20s %s\n' "$$name" "$$text"; done

venv: .venv/.complete ## make the virtual environment

.venv/.complete: pyproject.toml constraints.txt
	@set -eu; \
	usable() { "$$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
	if ! usable $(BIN)/python; then \
	  found=; \
	  for candidate in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    if usable "$$candidate"; then found=$$candidate; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo 'Python 3.11 or newer with its venv module is needed (on Debian: apt-get install python3-venv).' >&2; \
	    echo 'If it is installed under another name: make venv PYTHON=/path/to/python' >&2; \
	    exit 1; \
	  fi; \
	  echo "Making .venv with $$found ..."; \
	  rm -rf .venv; \
	  "$$found" -m venv .venv; \
	fi; \
	echo 'Installing what constraints.txt pins (about a minute, once) ...'; \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[sandbox,dev]'; \
	touch .venv/.complete

demo: venv ## watch a pool live, from nothing to nothing
	@DIR='$(DIR)' KEEP='$(KEEP)' CLUSTER='$(CLUSTER)' $(BIN)/python -m sandbox.demo

control-plane: venv ## build a real Kubernetes control plane for CLUSTER=real and the conformance suite
	$(BIN)/python -m sandbox.controlplane.build

test: venv ## the test suite, under ten minutes on two cores
	$(BIN)/python -m pytest -n 2 --dist loadscope

test-slow: venv ## the tests marked slow
	$(BIN)/python -m pytest -m slow --timeout 900

conformance: control-plane ## the simulators against what the real systems answer
	$(BIN)/python -m pytest -n 2 --dist loadscope -m 'not slow' tests/conformance
	$(BIN)/python -m pytest -n 2 --dist loadscope -m 'real and not slow' tests/integration

bench: bench-sandbox bench-autoscale ## measure everything, and keep the results in bench/results

bench-sandbox: venv ## measure how quick the sandbox is
	$(BIN)/python -m bench.sandbox

bench-autoscale: venv ## measure the autoscaler (half an hour), beside CLUSTER_AUTOSCALER=path if that is set
	$(BIN)/python -m bench.autoscale

check: check-format check-lint check-types check-imports ## formatting, lint, types and import rules

check-format: venv
	$(BIN)/ruff format --check .

check-lint: venv
	$(BIN)/ruff check .

check-types: venv
	$(BIN)/mypy
	$(BIN)/mypy docs/generate.py bench

check-imports: venv
	$(BIN)/lint-imports

format: venv ## let ruff rewrite what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: venv ## write docs/reference again from the code
	$(BIN)/python docs/generate.py
	$(BIN)/python -m starter.reference > docs/reference/cli.md

clean: ## remove everything that make made
	rm -rf .venv .control-plane build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
