"""Models of all providers, queried concurrently."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cinch_tui.reports.formatting import app_hints
from harness.errors import AuthenticationFailed, CinchError, QuotaExhausted
from harness.lazy_dataclass import dataclass
from providers.gguf.store import models_folder, pulled_models
from providers.installed import each_preset
from providers.model_catalog.local_servers import LocalServer, find_local_servers
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.offers import Offer, priced_offers, served_offers

if TYPE_CHECKING:
    from cinch_tui.api_keys.credentials import KeyStore
    from providers.catalog import Preset


@dataclass(frozen=True, slots=True)
class ProviderOffers:
    """Models of a provider; with a `problem`, it could not be queried and they come from the price data."""

    preset: Preset
    offers: tuple[Offer, ...] = ()
    problem: str = ""


def ready_providers(keys: KeyStore, in_use: str = "") -> list[Preset]:
    """Return the providers with a key or a base URL, and the one in use; each service once.

    Blocking: the keyring may be slow.

    Raises:
        ConfigError: the key file is damaged.
    """
    chosen: dict[tuple[str, ...], Preset] = {}
    for preset in each_preset():
        service = (preset.base_url or preset.name, *preset.key_variables)
        is_in_use = preset.name == in_use and not preset.is_local
        if is_in_use or (service not in chosen and _is_ready(preset, keys)):
            chosen[service] = preset
    return list(chosen.values())


async def ask_providers(
    providers: Iterable[Preset], keys: KeyStore, on_offers: Callable[[ProviderOffers], None]
) -> None:
    """Query the providers concurrently; `on_offers` receives each answer."""
    async with asyncio.TaskGroup() as group:
        for preset in providers:
            group.create_task(_ask(preset, keys, on_offers))


async def ask_local_servers(keys: KeyStore, on_offers: Callable[[ProviderOffers], None]) -> None:
    """Query the local servers that answer on their default ports."""
    async with asyncio.TaskGroup() as group:
        for server in await find_local_servers():
            preset = next(each for each in each_preset() if each.name == server.preset)
            if not _has_address(preset):
                group.create_task(_ask_server(preset, server, keys, on_offers))


def pulled_offers() -> list[Offer]:
    """Return the downloaded models, which run without a server. Blocking."""
    return [Offer("local", model.name, ModelMetadata()) for model in pulled_models(models_folder())]


async def offers_of(preset: Preset, keys: KeyStore, base_url: str = "") -> ProviderOffers:
    """Return the models of one provider."""
    try:
        return ProviderOffers(preset, tuple(await served_offers(preset, base_url=base_url or None, credentials=keys)))
    except (AuthenticationFailed, QuotaExhausted) as error:
        return ProviderOffers(preset, problem=app_hints(str(error)))
    except CinchError as error:
        return ProviderOffers(preset, tuple(await priced_offers(preset)), problem=app_hints(str(error)))


async def _ask(preset: Preset, keys: KeyStore, on_offers: Callable[[ProviderOffers], None]) -> None:
    on_offers(await offers_of(preset, keys))


async def _ask_server(
    preset: Preset, server: LocalServer, keys: KeyStore, on_offers: Callable[[ProviderOffers], None]
) -> None:
    answer = await offers_of(preset, keys, server.base_url)
    if answer.problem:
        # Fall back to the model list from the server's discovery.
        answer = ProviderOffers(
            preset, tuple(Offer(preset.name, name, ModelMetadata()) for name in server.models), answer.problem
        )
    on_offers(answer)


def _is_ready(preset: Preset, keys: KeyStore) -> bool:
    if preset.is_local or not preset.key_required:
        return _has_address(preset) or bool(keys.find(preset.name, preset.own_variables))
    return keys.find(preset.name, preset.own_variables) is not None


def _has_address(preset: Preset) -> bool:
    return bool(os.environ.get(preset.base_url_variable, "").strip()) if preset.base_url_variable else False
