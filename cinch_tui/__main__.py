"""`python -m cinch_tui` is `cinch`."""

from __future__ import annotations

import sys

from cinch_tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
