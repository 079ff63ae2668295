"""Models of all providers: queried concurrently, described in short (`$3 / $15`), and found by partial names."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.reports.formatting import app_hints
from harness.errors import AuthenticationFailed, CinchError, ConfigError, QuotaExhausted
from harness.ports.provider import Price
from providers.gguf.store import models_folder, pulled_models
from providers.installed import each_preset
from providers.model_catalog.local_servers import LocalServer, find_local_servers
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.offers import Offer, newest_first, priced_offers, served_offers
from providers.model_catalog.prices import priced_models
from providers.preset import Preset, nearest

LEGEND = "i image input · t tools, x no tools · r reasoning (--thinking)"
MOST_LISTED = 6
_SNAPSHOT = re.compile(r"-(?:latest|preview|\d{4,8}|\d{4}-\d\d-\d\d)$")


class ProviderOffers(Struct, frozen=True):
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
    """Query these providers and the local servers on their default ports concurrently; `on_offers` gets each answer."""
    presets = {preset.name: preset for preset in each_preset()}

    async def ask(preset: Preset, server: LocalServer | None = None) -> None:
        answer = await offers_of(preset, keys, server.base_url if server else "")
        if answer.problem and server:
            # Fall back to the model list from the server's discovery.
            listed = tuple(Offer(preset.name, name, ModelMetadata()) for name in server.models)
            answer = ProviderOffers(preset, listed, answer.problem)
        on_offers(answer)

    async with asyncio.TaskGroup() as group:
        for preset in providers:
            group.create_task(ask(preset))
        for server in await find_local_servers():
            if not _has_address(presets[server.preset]):
                group.create_task(ask(presets[server.preset], server))


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


def _is_ready(preset: Preset, keys: KeyStore) -> bool:
    if preset.is_local or not preset.key_required:
        return _has_address(preset) or bool(keys.find(preset.name, preset.own_variables))
    return keys.find(preset.name, preset.own_variables) is not None


def _has_address(preset: Preset) -> bool:
    return bool(os.environ.get(preset.base_url_variable, "").strip()) if preset.base_url_variable else False


def window_text(tokens: int | None) -> str:
    """Format a token count in thousands, decimal or binary; empty if unknown."""
    if not tokens:
        return ""
    if tokens < 1000:
        return str(tokens)
    thousand = 1024 if tokens % 1000 and not tokens % 1024 else 1000
    if tokens >= thousand * thousand:
        return f"{round(tokens / (thousand * thousand), 2):g}M"
    return f"{round(tokens / thousand)}k"


def price_text(price: Price | None) -> str:
    """Format the price in dollars per million input and output tokens."""
    if price is None:
        return ""
    if not price.input and not price.output:
        return "free"
    return f"{_dollars(price.input)} / {_dollars(price.output)}"


def capabilities_text(known: ModelMetadata) -> str:
    """Return the capabilities of a model, including "no tools", since an agent needs tools."""
    tools = {True: "tools", False: "no tools", None: ""}[known.tools]
    words = ("images" if known.images else "", tools, "thinking" if known.thinking else "")
    return " ".join(word for word in words if word)


def capability_letters(known: ModelMetadata) -> str:
    """Return the capabilities as up to three letters of `LEGEND`."""
    tools = {True: "t", False: "x", None: " "}[known.tools]
    return f"{'i' if known.images else ' '}{tools}{'r' if known.thinking else ' '}".rstrip()


def summary(known: ModelMetadata) -> str:
    """Return all metadata on one line."""
    parts = (window_text(known.context_window), price_text(known.price), capabilities_text(known))
    return " · ".join(part for part in parts if part)


def _dollars(amount: float) -> str:
    if amount == int(amount):
        return f"${int(amount)}"
    return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.3g}"


def resolve_model(name: str, keys: KeyStore) -> str:
    """Return the `provider/model` for a name without a provider, among the providers with a key.

    A new model of a known family is accepted as it is; an unknown name is returned unchanged.

    Raises:
        ConfigError: the name is ambiguous; the message lists the matches.
    """
    vendor = _vendor_of(name)
    known = list(_known_models(keys))
    exact = [each for each in known if name.casefold() in (_model_id(each), _model_id(each).rpartition("/")[2])]
    if own := [each for each in exact if each.partition("/")[0] == vendor]:
        return own[0]
    if exact:
        return _only(exact, name)
    if vendor and re.search(r"\d", name):
        return f"{vendor}/{name}"
    words = re.findall(r"[^\s/-]+", name.casefold())
    found = _without_snapshots(each for each in known if words and all(word in each.casefold() for word in words))
    if found:
        return _only(found, name)
    if close := nearest(name, [_model_id(each) for each in known]):
        raise ConfigError(f"unknown model {name!r}; did you mean {' or '.join(close)}?")
    return name


def family_model(family: str, provider: str) -> str:
    """Return the newest model of a family of Claude, such as `sonnet`, at a provider; empty if it has none.

    Blocking: reads the price data.
    """
    preset = next((each for each in each_preset() if each.name == provider), None)
    words = ("claude", family.casefold())
    found = [name for name in priced_models(preset) if all(each in name.casefold() for each in words)] if preset else []
    return f"{provider}/{min(_without_snapshots(found), key=newest_first)}" if found else ""


def _known_models(keys: KeyStore) -> Iterable[str]:
    """Yield `provider/model` of each model that is known without a request."""
    for preset in ready_providers(keys):
        models = {*priced_models(preset), *filter(None, [preset.default_model])}
        yield from (f"{preset.name}/{model}" for model in sorted(models, key=newest_first))
    yield from (offer.name for offer in pulled_offers())


def _vendor_of(name: str) -> str:
    """Return the provider whose model names have this prefix; empty if unknown."""
    return next((each.name for each in each_preset() if name.startswith(tuple(each.families))), "")


def _model_id(name: str) -> str:
    return name.partition("/")[2].casefold()


def _without_snapshots(names: Iterable[str]) -> list[str]:
    """Return the names without dated versions of models that are also in the list."""
    found = list(names)
    return [each for each in found if _SNAPSHOT.sub("", each) == each or _SNAPSHOT.sub("", each) not in found]


def _only(found: list[str], name: str) -> str:
    if len(found) == 1:
        return found[0]
    more = f" and {len(found) - MOST_LISTED} more" if len(found) > MOST_LISTED else ""
    raise ConfigError(f"{name!r} is ambiguous: {', '.join(found[:MOST_LISTED])}{more}; add the provider")
