# The commands of this project. `make quickstart` for a first look, `make test` for everything.

PYTHON := .venv/bin/python
RUSHHOUR := .venv/bin/rushhour
CARGO := cd agent && cargo

.PHONY: quickstart setup setup-test kernels agent lint format test test-agent test-python gallery bench mutants clean

quickstart: setup
	$(RUSHHOUR) kernel build debian:6.12
	$(RUSHHOUR) run tomasov/window-scaling

setup:
	scripts/setup

setup-test:
	scripts/setup --test

agent: setup

# Kernels live in the user's cache, outside the clone; one that is there is not built again.
kernels: setup-test
	$(RUSHHOUR) kernel build debian:6.1
	$(RUSHHOUR) kernel build debian:6.12

test: lint test-agent test-python

lint: setup-test
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	$(CARGO) fmt --check
	$(CARGO) clippy -q --locked --all-targets -- -D warnings

test-agent: setup-test
	$(CARGO) test -q --locked

test-python: kernels
	$(PYTHON) -m pytest

format:
	.venv/bin/ruff check --fix-only -q
	.venv/bin/ruff format -q
	$(CARGO) fmt

gallery: kernels
	$(PYTHON) docs/gallery.py

bench: kernels
	$(PYTHON) -m benchmarks

mutants: kernels
	$(PYTHON) -m mutants

clean:
	rm -rf .venv agent/target results
