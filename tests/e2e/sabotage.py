"""Fault injection: replaces a function of cinch from outside, since the product has no hook for that."""

from __future__ import annotations

import os
from pathlib import Path

SITE = """
import os
if os.environ.get("SABOTAGE"):
    import importlib

    module, place, name = os.environ["SABOTAGE"].split()

    def instead(*_, **__):
        secret = "sk-hidden"
        exec(os.environ["SABOTAGE_BY"])
        return "it was sabotaged"

    owner = importlib.import_module(module)
    setattr(getattr(owner, place) if place != "-" else owner, name, instead)
"""


def sabotaged(folder: Path, where: str, by: str) -> dict[str, str]:
    """Return an environment in which the function `where` (module, class or -, function) is replaced by `by`."""
    (folder / "sitecustomize.py").write_text(SITE)
    root = os.fspath(Path(__file__).resolve().parents[2])
    return {"PYTHONPATH": os.pathsep.join([str(folder), root]), "SABOTAGE": where, "SABOTAGE_BY": by}
