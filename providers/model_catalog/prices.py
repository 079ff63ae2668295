"""Prices and context windows from genai-prices, which is slow to import: call the functions in a thread.

Today's values are cached in small files: loading the whole price data takes longer than a short run.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from datetime import UTC, datetime
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from harness.errors import ProviderError
from harness.ports.provider import ModelInfo, ModelInfoSource, Price
from harness.workspace.disk import replace_file
from providers.model_catalog.listing import is_chat_model
from providers.model_catalog.metadata import MetadataSource, ModelMetadata
from providers.preset import Preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from genai_prices.types import ModelInfo as PricedModel
    from genai_prices.types import ModelPrice


logger = logging.getLogger(__name__)

LIST_SECONDS = 3.0
"""Seconds to wait for a service's model list if the price data does not contain the model."""
PROCESS_SECONDS = 20.0
"""Seconds; on a busy machine Python starts slowly, and loading the data in this process would not be faster."""
# Variables that Python needs to start; keys are not passed on.
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")
_CODE = "import sys; from providers.model_catalog.prices import print_metadata; print_metadata(*sys.argv[1:])"


Default = TypeVar("Default", float, None)


class PricedModelInfo(ModelInfoSource):
    """Information about one model from genai-prices, or from `cache` if set.

    If it contains no window, the service's own list is requested once; an unknown model gets the default window.
    """

    cache: PriceCache | None = None

    def __init__(self, preset: Preset, model_id: str, service: MetadataSource | None = None) -> None:
        self._prices = preset.prices
        self._model_id = model_id
        self._service = service
        self._now: ModelInfo | None = None if preset.prices else ModelInfo()

    @property
    def now(self) -> ModelInfo | None:
        return self._now

    async def load(self) -> ModelInfo:
        return await self._load(look_up)

    async def load_in_subprocess(self) -> ModelInfo:
        """Load without keeping the price data in memory; for long-lived processes."""

        return await self._load(look_up_in_subprocess)

    async def _load(self, look_up: Callable[[str, str, PriceCache | None], ModelMetadata]) -> ModelInfo:
        known = ModelMetadata()
        if self._now is None:
            known = await asyncio.to_thread(look_up, self._prices, self._model_id, self.cache)
            self._now = known.model_info
        service, self._service = self._service, None
        if service is not None and known.context_window is None:
            self._now = known.completed_by(await _listed_metadata(service, self._model_id)).model_info
        return self._now


async def _listed_metadata(service: MetadataSource, model_id: str) -> ModelMetadata:
    try:
        async with asyncio.timeout(LIST_SECONDS):
            found = await service.listed()
    except (ProviderError, TimeoutError):
        return ModelMetadata()
    return next((model.metadata for model in found if model.id == model_id), ModelMetadata())


def look_up(provider: str, model_id: str, cache: PriceCache | None = None) -> ModelMetadata:
    """Return the metadata of one model; empty if `provider` is empty. For a thread."""
    if not provider:
        return ModelMetadata()
    if cache is not None and (kept := cache.get(provider, model_id)) is not None:
        return kept
    model = _find(provider, model_id)
    known = _known(model) if model else ModelMetadata()
    if cache is not None and not (model and _varies_by_hour(model)):
        cache.put(provider, model_id, known)
    return known


def _find(provider: str, model_id: str) -> PricedModel | None:
    # The import takes a quarter of a second.
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(model_id, None, provider, None)[1]
    except LookupError:
        return None


def _varies_by_hour(model: PricedModel) -> bool:
    from genai_prices.types import TimeOfDateConstraint

    prices = model.prices if isinstance(model.prices, list) else []
    return any(isinstance(price.constraint, TimeOfDateConstraint) for price in prices)


def priced_models(preset: Preset) -> dict[str, ModelMetadata]:
    """Return the chat models of a provider that can be requested by these names. For a thread."""
    # Azure deployments have names chosen by the user, and an id without its folder is not a name.
    if not preset.prices or "RESOURCE" in preset.base_url:
        return {}
    from genai_prices.data_snapshot import get_snapshot

    provider = next((each for each in get_snapshot().providers if each.id == preset.prices), None)
    if provider is None:
        return {}
    known = {model.id: _known(model) for model in provider.models if not model.deprecated and is_chat_model(model.id)}
    return {name: each for name, each in known.items() if each.price and _is_requestable(preset, name)}


def _is_requestable(preset: Preset, name: str) -> bool:
    # Prefixes of the names of custom models.
    if name.startswith("ft:") or name.endswith("-"):
        return False
    if preset.prices == "google":
        return name.startswith("gemini-")
    in_folders = bool(preset.families) and all("/" in family for family in preset.families)
    return "/" in name or not in_folders


def _known(model: PricedModel) -> ModelMetadata:
    # Free models have no price in the data.
    price = Price(0, 0) if model.id.endswith(":free") else _price(model)
    return ModelMetadata(model.context_window, price=price)


def _price(model: PricedModel) -> Price | None:
    prices = model.get_prices(datetime.now(UTC), None)
    paid, written = _base_price(prices, "input", None), _base_price(prices, "output", None)
    if paid is None or written is None:
        return None
    # Without a price for cached input the price of plain input is used, and twice that for one hour, the usual rate: an
    # estimate should rather be too high than too low.
    usual = {"cache_read": paid, "cache_write": paid, "cache_write_1h": 2 * paid}
    cached = {what: _base_price(prices, what, default) for what, default in usual.items()}
    return Price(paid, written, **cached, searches=_search_price(prices))


def _search_price(prices: ModelPrice) -> float | None:
    """Return dollars per thousand web searches by the service."""
    price = getattr(prices, "web_searches_kcount", None)
    return None if price is None else float(price)


def _base_price(prices: ModelPrice, what: str, default: Default) -> float | Default:
    """Return dollars per million tokens, without the surcharge that some models have for very long prompts."""
    price = getattr(prices, f"{what}_mtok", None)
    price = getattr(price, "base", price)
    return default if price is None else float(price)


def look_up_in_subprocess(provider: str, model_id: str, cache: PriceCache | None = None) -> ModelMetadata:
    """Look up a model in a subprocess; in this process if the data is loaded already or no process can be started."""
    if not provider or "genai_prices" in sys.modules or (cache and cache.get(provider, model_id)):
        return look_up(provider, model_id, cache)
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _CODE, provider, model_id, *([str(cache.folder)] if cache else [])],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROCESS_SECONDS,
            check=True,
        )
        window, price = msgspec.json.decode(done.stdout, type=tuple[int | None, Price | None])
    except (OSError, subprocess.SubprocessError, ValueError, msgspec.MsgspecError):
        return look_up(provider, model_id, cache)
    return ModelMetadata(window, price=price)


def print_metadata(provider: str, model_id: str, folder: str = "") -> None:
    """Print a model's window and price as JSON, for `look_up_in_subprocess`."""
    known = look_up(provider, model_id, PriceCache(Path(folder)) if folder else None)
    sys.stdout.buffer.write(msgspec.json.encode((known.context_window, known.price)))


class CachedPrice(Struct, frozen=True):
    """Entry of the price cache."""

    of: tuple[str, int]
    """Day and release of the price data, which determine the prices."""

    window: int | None
    price: Price | None


class PriceCache(Struct, frozen=True):
    """Folder of cached entries; an entry expires with the day (UTC) or when the price data changes."""

    folder: Path

    def get(self, provider: str, model_id: str) -> ModelMetadata | None:
        """Return the cached entry; None if there is no valid one."""
        try:
            kept = msgspec.json.decode(self._file(provider, model_id).read_bytes(), type=CachedPrice)
        except (OSError, ValueError, msgspec.MsgspecError):
            return None
        return ModelMetadata(kept.window, price=kept.price) if kept.of == _edition() else None

    def put(self, provider: str, model_id: str, known: ModelMetadata) -> None:
        """Store an entry; a write error only costs time."""
        entry = msgspec.json.encode(CachedPrice(_edition(), known.context_window, known.price))
        try:
            replace_file(self._file(provider, model_id), entry, lambda: None)
        except OSError as error:
            logger.warning("cannot cache a model's price: %s", error)

    def _file(self, provider: str, model_id: str) -> Path:
        return self.folder / f"{quote(f'{provider}/{model_id}', safe='')}.json"


def _edition() -> tuple[str, int]:
    spec = PathFinder.find_spec("genai_prices")
    places = list(spec.submodule_search_locations or ()) if spec else []
    released = (Path(places[0]) / "data.py").stat().st_mtime_ns if places else 0
    return datetime.now(UTC).date().isoformat(), released
