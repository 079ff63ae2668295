"""The price data as another process reads it: whoever reads it holds six megabytes from then on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from harness.ports.provider import Price
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.price_cache import PriceCache
from providers.model_catalog.prices import priced

PATIENCE = 20.0
"""Seconds; on a machine that is busy a Python starts slowly, and to load the data here as well would not be faster."""
# What a Python needs to start. Keys are none of its business.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
_CODE = "import sys; from providers.model_catalog.prices_apart import tell; tell(*sys.argv[1:])"


def priced_apart(provider: str, model_id: str, shelf: PriceCache | None = None) -> ModelMetadata:
    """As `priced`; where it is loaded already, or no process can be started, from there. For a thread."""
    if not provider or "genai_prices" in sys.modules:
        return priced(provider, model_id, shelf)
    if shelf is not None and (kept := shelf.recall(provider, model_id)) is not None:
        return kept
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _CODE, provider, model_id, *([str(shelf.folder)] if shelf else [])],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
        window, price = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return priced(provider, model_id, shelf)
    return ModelMetadata(window, price=Price(**price) if price else None)


def tell(provider: str, model_id: str, folder: str = "") -> None:
    known = priced(provider, model_id, PriceCache(Path(folder)) if folder else None)
    json.dump([known.context_window, known.price and asdict(known.price)], sys.stdout)
