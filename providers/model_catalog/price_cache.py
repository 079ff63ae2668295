"""Today's prices and windows in small files: loading the whole price data takes longer than a short run."""

from __future__ import annotations

import json
import logging
from dataclasses import astuple
from datetime import UTC, datetime
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from harness.lazy_dataclass import dataclass
from harness.ports.provider import Price
from harness.workspace.disk import replace_file
from providers.model_catalog.metadata import ModelMetadata

if TYPE_CHECKING:
    from harness.messages import JsonValue

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PriceCache:
    """Folder of cached entries; an entry expires with the day (UTC) or when the price data changes."""

    folder: Path

    def get(self, provider: str, model_id: str) -> ModelMetadata | None:
        """Return the cached entry; None if there is no valid one."""
        try:
            kept: JsonValue = json.loads(self._file(provider, model_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        match kept:
            case {"of": of, "window": int() | None as window, "price": price} if of == _edition():
                return ModelMetadata(window, price=_price(price))
            case _:
                return None

    def put(self, provider: str, model_id: str, known: ModelMetadata) -> None:
        """Store an entry; a write error only costs time."""
        price = known.price and [None if each is None else float(each) for each in astuple(known.price)]
        text = json.dumps({"of": _edition(), "window": known.context_window, "price": price})
        try:
            replace_file(self._file(provider, model_id), text.encode(), lambda: None)
        except OSError as error:
            logger.warning("cannot cache a model's price: %s", error)

    def _file(self, provider: str, model_id: str) -> Path:
        return self.folder / f"{quote(f'{provider}/{model_id}', safe='')}.json"


def _price(kept: JsonValue) -> Price | None:
    match kept:
        case [float() as read, float() as written, float() as again, float() as stored, float() | None as for_an_hour]:
            return Price(read, written, again, stored, for_an_hour)
        case _:
            return None


def _edition() -> list[JsonValue]:
    """Return the day and the release of the price data: both determine the prices."""
    spec = PathFinder.find_spec("genai_prices")
    places = list(spec.submodule_search_locations or ()) if spec else []
    released = (Path(places[0]) / "data.py").stat().st_mtime_ns if places else 0
    return [datetime.now(UTC).date().isoformat(), released]
