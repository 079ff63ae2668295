"""`python -m cinch_tui` is `cinch`."""

from __future__ import annotations

from cinch_tui.launch import run

if __name__ == "__main__":
    run()
