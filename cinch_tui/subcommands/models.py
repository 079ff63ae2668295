"""`cinch models`: available models with capabilities and prices, and providers."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.cli.start import config_sources
from cinch_tui.config.layers import load_config
from cinch_tui.config.paths import find_paths
from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.models.offers import (
    LEGEND,
    ProviderOffers,
    ask_providers,
    capabilities_text,
    capability_letters,
    offers_of,
    price_text,
    pulled_offers,
    ready_providers,
    summary,
    window_text,
)
from cinch_tui.print_mode.output import Output
from harness.entry_points import disable_packages
from harness.errors import ConfigError
from harness.messages import JsonObject
from providers.installed import each_preset, find_preset, problems
from providers.model_catalog.local_servers import find_local_servers
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.offers import Offer, priced_offers
from providers.preset import Preset, nearest

HELP = """\
cinch models             list available models: name for --model, context window,
                         price in dollars per million input and output tokens,
                         capabilities
cinch models WORD…       list matching models: cinch models claude thinking,
                         cinch models openrouter/qwen
cinch models PROVIDER    list the models of a provider, also without a key
cinch models pull NAME   download a model: see cinch models pull --help
  --all                  include providers without a key, from price data
  --json                 print one JSON object per line
  --providers            list providers and where their keys come from
"""
NO_PROVIDER = """\
No API key was found, and no local server is running. Enter a key in the app (cinch), set the environment variable of a
provider, or start Ollama or LM Studio. Models of a provider: cinch models PROVIDER; of all: cinch models --all
"""
COLUMNS = "context window · $ per million input / output tokens · capabilities"
FLAGS = ("--all", "--json", "--providers", "-h", "--help")


class ModelQuery(Struct, frozen=True):
    """Parsed arguments of `cinch models`."""

    terms: tuple[str, ...]
    flags: frozenset[str]
    provider: Preset | None = None
    """The provider named by the first term, if any."""

    @property
    def query(self) -> str:
        words = self.terms
        if self.provider and words[0] == self.provider.name:
            words = words[1:]
        return " ".join(words)


class FoundModels(Struct):
    """Models found so far, and remarks for stderr."""

    offers: list[Offer] = []
    remarks: list[str] = []

    def add(self, answer: ProviderOffers) -> None:
        self.offers.extend(answer.offers)
        if answer.problem:
            is_priced = any(not offer.is_listed for offer in answer.offers)
            origin = " (models listed from price data)" if is_priced else ""
            self.remarks.append(f"{answer.preset.name}: {answer.problem}{origin}")


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """List models or providers; the status is 1 if nothing matches.

    Raises:
        ConfigError: the arguments are invalid, or the named provider has no models.
    """
    if list(argv[:1]) == ["pull"] or list(argv) == ["local"]:
        from cinch_tui.subcommands.pull import run_pull

        return run_pull(argv, out=out)
    query = _query(argv)
    if query.flags & {"-h", "--help"}:
        out.write_text(HELP)
        return 0
    paths = find_paths(os.environ)
    config = load_config(config_sources(paths, cwd))
    disable_packages(config.settings.extensions.disabled_packages)
    store = KeyStore(paths, config.environ)
    if "--providers" in query.flags:
        _show_providers(store, out)
        return 0
    found = asyncio.run(_find(query, store))
    offers = _matching(query, found.offers)
    _show(offers, out, as_json="--json" in query.flags)
    remarks = list(found.remarks)
    if not found.offers and not query.terms:
        out.write_text(NO_PROVIDER)
        _show_providers(store, out)
    elif not offers:
        remarks += [_no_match(query), *problems()]
    aside = Output(sys.stderr)
    for remark in remarks:
        aside.write_text(remark)
    return 0 if offers or not query.terms else 1


def _query(argv: Sequence[str]) -> ModelQuery:
    flags = [word for word in argv if word.startswith("-")]
    if wrong := next((flag for flag in flags if flag not in FLAGS), None):
        raise ConfigError(f"unknown option {wrong}; cinch models has {', '.join(FLAGS[:3])}")
    words = tuple(word for word in argv if not word.startswith("-"))
    named = find_preset(words[0].partition("/")[0]) if words else None
    return ModelQuery(words, frozenset(flags), named)


async def _find(query: ModelQuery, store: KeyStore) -> FoundModels:
    found = FoundModels()
    if query.provider is not None:
        answer = await offers_of(query.provider, store)
        if answer.problem and not answer.offers:
            raise ConfigError(answer.problem)
        found.add(answer)
        return found
    ready = await asyncio.to_thread(ready_providers, store)
    await ask_providers(ready, store, found.add)
    if "--all" in query.flags:
        seen = {preset.base_url for preset in ready}
        for preset in each_preset():
            # Presets of the same service count once.
            if preset.base_url not in seen:
                seen.add(preset.base_url)
                found.offers.extend(await priced_offers(preset))
    order = {preset.name: place for place, preset in enumerate(each_preset())}
    found.offers.sort(key=lambda offer: order[offer.provider])
    found.offers.extend(await asyncio.to_thread(pulled_offers))
    found.remarks.sort()
    return found


def _matching(query: ModelQuery, offers: list[Offer]) -> list[Offer]:
    """Return the models that contain all terms, or else those whose names match fuzzily; the order is kept."""
    words = query.query.casefold().split()
    lines = [f"{offer.name} {summary(offer.metadata)}".casefold() for offer in offers]
    exact = [offer for offer, line in zip(offers, lines, strict=True) if all(word in line for word in words)]
    return exact or [
        offers[place] for place in sorted(rank_matches(query.query, [offer.name.casefold() for offer in offers]))
    ]


def _no_match(query: ModelQuery) -> str:
    named = " ".join(query.terms)
    close = nearest(named, [preset.name for preset in each_preset()], 1)
    if close and not query.provider:
        return f"no model matches {named!r}; did you mean the provider {close[0]}?"
    more = "" if query.provider or "--all" in query.flags else f"; to search all providers: cinch models --all {named}"
    return f"no model matches {named!r}{more}"


def _show(offers: list[Offer], out: Output, *, as_json: bool) -> None:
    if as_json:
        for offer in offers:
            out.write_json(_record(offer))
        return
    width = shutil.get_terminal_size().columns if out.stream.isatty() else 0
    lines = _table(offers, capabilities_text)
    is_short = 0 < width < max((len(line) for line in lines), default=0)
    for line in _table(offers, capability_letters, width) if is_short else lines:
        out.write_text(line)
    if offers and width:
        out.write_text(f"\n{COLUMNS}" + (f"\n{LEGEND}" if is_short else ""))


def _table(offers: list[Offer], abilities: Callable[[ModelMetadata], str], width: int = 0) -> list[str]:
    """Return the models in columns; names are truncated to fit the width."""
    facts = [
        (window_text(offer.metadata.context_window), price_text(offer.metadata.price), abilities(offer.metadata))
        for offer in offers
    ]
    window, price, ability = (max((len(row[place]) for row in facts), default=0) for place in range(3))
    room = max((len(offer.name) for offer in offers), default=0)
    if width:
        room = min(room, max(20, width - window - price - ability - 6))
    names = [offer.name if len(offer.name) <= room else f"{offer.name[: room - 1]}…" for offer in offers]
    return [
        f"{name:<{room}}  {row[0]:>{window}}  {row[1]:<{price}}  {row[2]}".rstrip()
        for name, row in zip(names, facts, strict=True)
    ]


def _record(offer: Offer) -> JsonObject:
    offered = {"name": offer.name, "provider": offer.provider, "id": offer.model_id, "listed": offer.is_listed}
    return offered | asdict(offer.metadata) | {"price": asdict(offer.metadata.price) if offer.metadata.price else None}


def _show_providers(store: KeyStore, out: Output) -> None:
    local = {server.preset for server in asyncio.run(find_local_servers())}
    for preset in each_preset():
        out.write_text(f"{preset.name:<14} {preset.label:<32} {_state(preset, store, local)}")
    out.write_text(f"{'demo':<14} {'Scripted tour':<32} needs no key")
    for problem in problems():
        out.write_text(problem)


def _state(preset: Preset, store: KeyStore, local: set[str]) -> str:
    if preset.is_local:
        return f"{'running' if preset.name in local else 'not running'} on port {preset.local_port}"
    if secret := store.find(preset.name, preset.variables):
        return f"key from {secret.source}"
    return f"no key; {preset.key_variables[0]} is not set" if preset.key_variables else "needs no key"
