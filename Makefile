# The commands of this project. `make quickstart` for a first look, `make test` for everything.

PYTHON := .venv/bin/python
RUSHHOUR := .venv/bin/rushhour
# Tests that start a make: it is not told of the jobs of this one.
APART := env -u MAKEFLAGS -u MFLAGS
# In memory without pytest's own folders between: the paths of sockets have an end.
PYTEST := exec $(PYTHON) -m pytest $${IN_MEMORY:+--basetemp=$$IN_MEMORY/t}
CARGO := cd agent && ../scripts/cargo
# What the build script makes modules of, and itself: cargo fmt does not find them.
RUSTFMT := cd agent && RUN=rustfmt ../scripts/cargo --edition 2021 src/tc/kinds/*.rs src/traffic/*.rs build.rs
VARIABLES := $(addprefix --variable ,kernel agent tools rushhour)

.PHONY: quickstart setup setup-test kernels symbols agent agent-aarch64 lint format check test \
	agent-tests agent-tests-aarch64 test-agent test-agent-aarch64 \
	tests-compiled test-python test-alone test-together test-suite fuzz \
	baseline coverage pictures gallery bench man mutants systems locks wheels release again clean

quickstart: setup
	scripts/kernel 6.12
	$(RUSHHOUR) demo

setup:
	scripts/setup

setup-test:
	scripts/setup --test

agent: setup

# Kernels live in the user's cache, outside the clone; one that is there is not built again.
kernels: setup-test
	$(RUSHHOUR) kernel build debian:6.1
	$(RUSHHOUR) kernel build debian:6.12

# The same with what debuggers read: on a new machine it takes longer to compile than a test may take.
symbols: kernels
	$(RUSHHOUR) kernel build debian:6.12 --with symbols

# First what measures this machine in real time. It waits more than it works: linters and compilers take what it leaves.
# Then all other tests; the agent's, which wait too, beside Python's.
test: setup-test
	$(MAKE) --jobs 5 --output-sync=target \
		GIVES_WAY="$$(chrt -i 0 echo chrt -i 0 2> /dev/null || echo nice -n 19)" \
		test-alone tests-compiled lint agent-tests agent-tests-aarch64
	$(MAKE) --jobs 3 test-agent test-agent-aarch64 test-together
	$(MAKE) --jobs 1 test-suite

# What runs them, but not what they need, takes only the processor time that nobody else wants.
lint tests-compiled agent-tests agent-tests-aarch64: private SHELL = $(strip $(GIVES_WAY) /bin/sh)

# For the moment before a commit, in under a minute: the linters, and the pure tests of the path.
check: lint
	$(PYTHON) -m pytest -q -n auto -m 'not host and not virtual' tests/spec tests/plan tests/metrics tests/models \
		tests/test_documents.py tests/test_rooms_of_the_house.py tests/test_record.py

lint: setup-test
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	PYTHONPATH=src .venv/bin/lint-imports --no-cache > /dev/null || PYTHONPATH=src .venv/bin/lint-imports --no-cache
	$(CARGO) fmt --check
	$(RUSTFMT) --check
	$(CARGO) clippy -q --locked --all-targets -- -D warnings

agent-tests: setup-test
	$(CARGO) test -q --locked --no-run

test-agent: setup-test
	$(CARGO) test -q --locked

agent-tests-aarch64: setup-test
	scripts/agent-aarch64 --test --no-run

test-agent-aarch64: setup-test
	scripts/agent-aarch64 --test

# The agent for 64-bit ARM, for the labs in real time.
agent-aarch64: setup-test
	scripts/agent-aarch64

test-python:
	$(MAKE) --jobs 1 tests-compiled test-alone test-together

# Compiled once, not by every worker, also where Python is told to write no bytecode.
tests-compiled test-alone test-together: export PYTHONDONTWRITEBYTECODE :=

# What pytest makes of the tests; workers that begin together would each make it.
tests-compiled: setup-test
	$(PYTHON) -m pytest -q --collect-only > /dev/null

# What measures this machine in real time, and would measure the others. One file bears the rest beside it.
test-alone: kernels
	$(APART) scripts/in-memory sh -c '$(PYTEST) -n 2 -m alone'

# One worker a CPU and one more.
test-together: symbols
	$(APART) scripts/in-memory sh -c '$(PYTEST) -n auto -m "not alone"'

# Our own work, judged by our own tool: the quick suite with this agent against what the repository keeps. Where
# another compiler made another kernel, one seed may leave cells undecided (3): that is no failure of ours.
test-suite: kernels
	$(RUSHHOUR) compare baselines/suite-quick debian-6.12 $(VARIABLES) --to junit --to tap || test $$? = 3

# Fuzzers of all that reads files, guided by coverage: TARGET="record" is one of them, SECONDS how long each takes.
TARGET := scenario trace record results exchange baseline verdict database
SECONDS := 600
fuzz: setup-test
	for target in $(TARGET); do PYTHONPATH=src:tests $(PYTHON) -m fuzz $$target --seconds $(SECONDS) || exit 1; done

baseline: kernels
	rm -rf results/baseline baselines/suite-quick
	$(RUSHHOUR) run suite --quick --kernel debian-6.12 --out results/baseline
	$(RUSHHOUR) baseline save ./baselines/suite-quick results/baseline --slim

# Which lines of the kernel the quick suite executes: the index beside its baseline.
coverage: kernels
	$(RUSHHOUR) kernel build debian:6.12 --with coverage
	$(RUSHHOUR) coverage --out results/coverage
	cp results/coverage/coverage.json.xz src/rushhour/coverage/suite.json.xz
	.venv/bin/python docs/generate.py

format:
	.venv/bin/ruff check --fix-only -q
	.venv/bin/ruff format -q
	$(CARGO) fmt
	$(RUSTFMT)

# Every picture of README and docs/, and the numbers that they repeat, from runs of this version.
pictures: kernels
	$(PYTHON) -m pictures

gallery: kernels
	$(PYTHON) -m pictures gallery

bench: kernels
	$(PYTHON) -m benchmarks

# The manual page of this clone, whatever is installed.
man:
	man share/man/man1/rushhour.1

mutants: kernels
	$(PYTHON) -m mutants

# Packages to install elsewhere, in dist/: Rush Hour with its agent, and kernels. A release is these and all that goes with
# them; CONTACT="NAME <ADDRESS>" says who gives out the kernels' sources.
wheels: setup-test
	$(PYTHON) -m shipping wheels

release: setup-test
	$(PYTHON) -m shipping release

# All wheels twice, from nothing, in two places: are they the same to the byte?
again: setup-test
	$(PYTHON) -m shipping again

# Every package at its newest version, with its hashes; `scripts/locks --keep` changes only what has to change.
locks:
	scripts/locks
	$(PYTHON) -m shipping notices

# Bare roots of other systems, each up to its first plot; as root. SYSTEMS="debian-13" names some of them, SYSTEMS=--tests
# runs the tests that need nothing with each system's Python, too.
systems: setup
	scripts/setup --systems
	$(PYTHON) -m systems $(SYSTEMS)

clean:
	rm -rf .venv agent/target results
