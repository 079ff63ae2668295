"""The terminal front of cinch: command line, print mode and app.

Importing it makes the import path safe. An agent is started inside other people's folders, and with `python -m` or
`PYTHONPATH=.` Python would take a stranger's `tools/`, `harness/` or `json.py` from there and run it. So the current
folder leaves the path, and the folder that holds this package goes first.
"""

from __future__ import annotations

# Only modules that are loaded before any code of a stranger could be: the path is not safe yet.
import os
import sys

__version__ = "0.1.0"


def _make_import_path_safe() -> None:
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 pathlib would be imported from the unsafe path
    try:
        current = os.path.realpath(os.getcwd())  # noqa: PTH109 as above
    except OSError:
        # The folder was deleted: nothing can be imported from it.
        current = ""
    others = [entry for entry in sys.path if os.path.realpath(entry or ".") not in (current, own)]
    sys.path[:] = [own, *others]


_make_import_path_safe()
