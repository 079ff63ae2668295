"""`python -m cinch_tui` is `cinch`."""

from __future__ import annotations

from cinch_tui.cli import run

if __name__ == "__main__":
    run()
