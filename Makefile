# `make run` and `make test` are all a newcomer needs; `make check` is the gate before a push.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: run test check lint snapshots bench clean

run: $(VENV)/.installed
	@$(BIN)/cinch $(ARGS)

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto -q $(ARGS)

check: lint test

# All gates run even when one fails, so that one look shows them all.
lint: $(VENV)/.installed-dev
	@status=0; \
	for gate in "ruff format --check ." "ruff check ." pyright "lint-imports --no-logo"; do \
		echo "== $$gate"; $(BIN)/$$gate || status=1; \
	done; \
	exit $$status

# The pictures of the screen; look at every one that changed before committing it.
snapshots: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n auto -q --snapshot-update tests/cinch_tui

bench: $(VENV)/.installed-test
	@for file in $$(grep -l __main__ benchmarks/*.py); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean:
	rm -rf $(VENV)

# pip learned --group in 25.1; Debian's venv brings an older one.
$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group test
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed-test
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@
