# `make run` and `make test` are all a newcomer needs; `make check` is the gate before a push.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := harness providers tools cinch_tui themes
ARGS ?=
# Half of the tests wait for a terminal, a server or a clock most of their time.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")
# The tests run a model of a few hundred kilobytes: llama.cpp is compiled fast, not to be fast, and only what is used of it.
QUICK_LLAMA := SKBUILD_BUILD_TARGETS=llama CMAKE_ARGS="-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF \
	-DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF -DCMAKE_C_FLAGS_RELEASE=-O0 -DCMAKE_CXX_FLAGS_RELEASE=-O0 \
	-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/.ci/llama.cmake"

.PHONY: run test check lint snapshots bench soak clean venv-module

run: $(VENV)/.installed
	@$(BIN)/cinch $(ARGS)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -q $(ARGS)

check: lint test

# All gates run even when one fails, so that one look shows them all.
lint: $(VENV)/.installed-dev
	@status=0; \
	for gate in "ruff format --check ." "ruff check ." pyright "lint-imports --no-logo"; do \
		echo "== $$gate"; $(BIN)/$$gate || status=1; \
	done; \
	exit $$status

# What is told of the tools, and the pictures of the screen; look at all that changed before committing it.
snapshots: $(VENV)/.installed-test
	$(BIN)/python -m tools.manifest
	$(BIN)/python -m pytest -n auto -q --snapshot-update tests/cinch_tui
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/tables.py

bench: $(VENV)/.installed-test
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# Five minutes by chance in a real terminal; a failure tells its seed: `make soak ARGS="--seed 7"`.
soak: $(VENV)/.installed-test
	PYTHONPATH=.:tests $(BIN)/python -m soak.in_terminal $(ARGS)

clean:
	rm -rf $(VENV)

# Debian keeps venv in a package of its own.
venv-module:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq python3-venv; \
	else \
		echo "python3 has no venv module here; install it first: sudo apt install python3-venv" >&2; exit 1; \
	fi

# pip learned --group in 25.1; Debian's venv brings an older one.
$(VENV)/.made:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(MAKE) --no-print-directory venv-module && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# pip compiles a wheel but not an editable install, and some environments forbid Python to do it as it goes.
$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

# Not from the cache and not into it: nobody is to talk to a model with a slow build.
$(VENV)/.installed-test: $(VENV)/.installed
	$(QUICK_LLAMA) $(BIN)/python -m pip install --quiet --no-cache-dir --group llama
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
