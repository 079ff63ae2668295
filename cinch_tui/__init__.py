"""Front ends of cinch: command line, print mode, plain mode and app.

Importing it makes the import path safe. An agent is started inside other people's folders, and with `python -m` or
`PYTHONPATH=.` Python would import a `tools/`, `harness/` or `json.py` from there. The current folder is therefore
removed from the path, and the folder of this package goes first. A package that the user installed from the current
folder (`pip install -e .`) stays: its place is behind Python's own modules and the installed packages.
"""

from __future__ import annotations

# Only modules that are loaded before any code of a stranger could be: the path is not safe yet.
import os
import sys

__version__ = "0.1.0"
_STANDARD_LIBRARY = os.path.dirname(os.__file__)  # noqa: PTH120 pathlib would be imported from the unsafe path


def _make_import_path_safe() -> None:
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 pathlib would be imported from the unsafe path
    try:
        current = os.path.realpath(os.getcwd())  # noqa: PTH109 as above
    except OSError:
        # The folder was deleted: nothing can be imported from it.
        current = ""
    unsafe = {own, current}
    others: list[str] = []
    for entry in sys.path:
        if os.path.realpath(entry or ".") not in unsafe:
            others.append(entry)
        if entry == _STANDARD_LIBRARY:
            unsafe = {own}  # what follows is put there by the environment itself
    sys.path[:] = [own, *others]


_make_import_path_safe()
