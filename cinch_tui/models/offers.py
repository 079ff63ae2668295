"""Which models can be had now: all who serve them are asked at once, and each answer is told as it comes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cinch_tui.app.hints import app_hints
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
    """What a provider offers; with a `problem` it could not be asked, and the offers are what the price data knows."""

    preset: Preset
    offers: tuple[Offer, ...] = ()
    problem: str = ""


def ready_providers(keys: KeyStore, in_use: str = "") -> list[Preset]:
    """The providers there is a key or an address for, and the one in use; of two ways to one service only that one, or
    else the first.

    For a thread: the keyring may take its time.

    Raises:
        ConfigError: the file of keys is damaged.
    """
    chosen: dict[tuple[str, ...], Preset] = {}
    for preset in each_preset():
        way = (preset.base_url or preset.name, *preset.key_variables)
        is_in_use = preset.name == in_use and not preset.is_local
        if is_in_use or (way not in chosen and _is_at_hand(preset, keys)):
            chosen[way] = preset
    return list(chosen.values())


async def ask_providers(providers: Iterable[Preset], keys: KeyStore, tell: Callable[[ProviderOffers], None]) -> None:
    """Ask them at once; `tell` hears each answer."""
    async with asyncio.TaskGroup() as group:
        for preset in providers:
            group.create_task(_ask(preset, keys, tell))


async def ask_local_servers(keys: KeyStore, tell: Callable[[ProviderOffers], None]) -> None:
    """Ask the servers on this machine that answer on their usual ports."""
    async with asyncio.TaskGroup() as group:
        for server in await find_local_servers():
            preset = next(each for each in each_preset() if each.name == server.preset)
            if not _has_address(preset):
                group.create_task(_ask_server(preset, server, keys, tell))


def pulled_offers() -> list[Offer]:
    """The models that were pulled to this machine and run without a server; for a thread."""
    return [Offer("local", model.name, ModelMetadata()) for model in pulled_models(models_folder())]


async def offers_of(preset: Preset, keys: KeyStore, base_url: str = "") -> ProviderOffers:
    """What one provider offers."""
    try:
        return ProviderOffers(preset, tuple(await served_offers(preset, base_url=base_url or None, credentials=keys)))
    except (AuthenticationFailed, QuotaExhausted) as error:
        return ProviderOffers(preset, problem=app_hints(str(error)))
    except CinchError as error:
        return ProviderOffers(preset, tuple(await priced_offers(preset)), problem=app_hints(str(error)))


async def _ask(preset: Preset, keys: KeyStore, tell: Callable[[ProviderOffers], None]) -> None:
    tell(await offers_of(preset, keys))


async def _ask_server(
    preset: Preset, server: LocalServer, keys: KeyStore, tell: Callable[[ProviderOffers], None]
) -> None:
    answer = await offers_of(preset, keys, server.base_url)
    if answer.problem:
        # What it said when it was found is better than nothing.
        answer = ProviderOffers(
            preset, tuple(Offer(preset.name, name, ModelMetadata()) for name in server.models), answer.problem
        )
    tell(answer)


def _is_at_hand(preset: Preset, keys: KeyStore) -> bool:
    if preset.is_local or not preset.key_required:
        return _has_address(preset) or bool(keys.find(preset.name, preset.own_variables))
    return keys.find(preset.name, preset.own_variables) is not None


def _has_address(preset: Preset) -> bool:
    return bool(os.environ.get(preset.base_url_variable, "").strip()) if preset.base_url_variable else False
