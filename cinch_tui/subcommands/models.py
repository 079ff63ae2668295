"""`cinch models`: which models can be had, what each can do and costs, and who offers models at all."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, field

from cinch_tui.api_keys.credentials import KeyStore
from cinch_tui.config.paths import find_paths
from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.models.offer_text import LEGEND, capabilities_text, capability_letters, price_text, summary, window_text
from cinch_tui.models.offers import (
    ProviderOffers,
    ask_local_servers,
    ask_providers,
    offers_of,
    pulled_offers,
    ready_providers,
)
from cinch_tui.print_mode.output import Output
from harness.errors import ConfigError
from harness.lazy_dataclass import dataclass
from harness.messages import JsonObject
from providers.catalog import Preset, nearest
from providers.installed import each_preset, find_preset, problems
from providers.model_catalog.local_servers import find_local_servers
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.offers import Offer, priced_offers

HELP = """\
cinch models             every model that can be had now: its name for --model,
                         the tokens it reads, dollars per million tokens in and
                         out, and what it can do
cinch models WORD…       those that match: cinch models claude thinking,
                         cinch models openrouter/qwen
cinch models PROVIDER    those of one provider, also without a key
cinch models pull NAME   bring one to this machine: cinch models pull --help
  --all                  also those of providers without a key, from price data
  --json                 one JSON object a line
  --providers            who offers models, and whether a key is at hand
"""
HOW = """\
No key is at hand and no server answers on this machine. Enter a key in the app (cinch), set a provider's variable, or
start Ollama or LM Studio. What a provider has: cinch models PROVIDER; all of them: cinch models --all
"""
COLUMNS = "tokens it reads · $ per million in / out · what it can"
FLAGS = ("--all", "--json", "--providers", "-h", "--help")


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """What was asked for. `provider` is the one that a word names."""

    terms: tuple[str, ...]
    flags: frozenset[str]
    provider: Preset | None = None

    @property
    def query(self) -> str:
        words = self.terms
        if self.provider and words[0] == self.provider.name:
            words = words[1:]
        return " ".join(words)


@dataclass(slots=True)
class Found:
    """What was found so far, and what to tell of it on the side."""

    offers: list[Offer] = field(default_factory=list[Offer])
    remarks: list[str] = field(default_factory=list[str])

    def add(self, answer: ProviderOffers) -> None:
        self.offers.extend(answer.offers)
        if answer.problem:
            is_priced = any(not offer.is_listed for offer in answer.offers)
            origin = " (its models here are those of the price data)" if is_priced else ""
            self.remarks.append(f"{answer.preset.name}: {answer.problem}{origin}")


def run_models(argv: Sequence[str], *, out: Output) -> int:
    """List models or providers; the status is 1 when nothing matches.

    Raises:
        ConfigError: the arguments cannot be understood, or one provider was named and there is nothing to be had.
    """
    if list(argv[:1]) == ["pull"] or list(argv) == ["local"]:
        from cinch_tui.subcommands.pull import run_pull

        return run_pull(argv, out=out)
    wish = _wish(argv)
    store = KeyStore(find_paths(os.environ), os.environ)
    if wish.flags & {"-h", "--help"}:
        out.write_text(HELP)
        return 0
    if "--providers" in wish.flags:
        _show_providers(store, out)
        return 0
    found = asyncio.run(_find(wish, store))
    offers = _matching(wish, found.offers)
    _show(offers, out, as_json="--json" in wish.flags)
    remarks = list(found.remarks)
    if not found.offers and not wish.terms:
        out.write_text(HOW)
        _show_providers(store, out)
    elif not offers:
        remarks += [_no_match(wish), *problems()]
    aside = Output(sys.stderr)
    for remark in remarks:
        aside.write_text(remark)
    return 0 if offers or not wish.terms else 1


def _wish(argv: Sequence[str]) -> ModelQuery:
    flags = [word for word in argv if word.startswith("-")]
    if wrong := next((flag for flag in flags if flag not in FLAGS), None):
        raise ConfigError(f"cinch models knows no {wrong}; it knows {', '.join(FLAGS[:3])}")
    words = tuple(word for word in argv if not word.startswith("-"))
    named = find_preset(words[0].partition("/")[0]) if words else None
    return ModelQuery(words, frozenset(flags), named)


async def _find(wish: ModelQuery, store: KeyStore) -> Found:
    found = Found()
    if wish.provider is not None:
        await _ask_one(wish.provider, store, found)
        return found
    ready = await asyncio.to_thread(ready_providers, store)
    async with asyncio.TaskGroup() as group:
        group.create_task(ask_providers(ready, store, found.add))
        group.create_task(ask_local_servers(store, found.add))
    if "--all" in wish.flags:
        for preset in _others(ready):
            found.offers.extend(await priced_offers(preset))
    order = {preset.name: place for place, preset in enumerate(each_preset())}
    found.offers.sort(key=lambda offer: order[offer.provider])
    found.offers.extend(await asyncio.to_thread(pulled_offers))
    found.remarks.sort()
    return found


def _others(ready: list[Preset]) -> Iterator[Preset]:
    """The providers that were not asked; two names of one service count once."""
    seen = {preset.base_url for preset in ready}
    for preset in each_preset():
        if preset.base_url not in seen:
            seen.add(preset.base_url)
            yield preset


async def _ask_one(preset: Preset, store: KeyStore, found: Found) -> None:
    answer = await offers_of(preset, store)
    if answer.problem and not answer.offers:
        raise ConfigError(answer.problem)
    found.add(answer)


def _matching(wish: ModelQuery, offers: list[Offer]) -> list[Offer]:
    """Those that hold the words anywhere; if none does, those whose names hold their letters. The order stays."""
    words = wish.query.casefold().split()
    lines = [f"{offer.name} {summary(offer.metadata)}".casefold() for offer in offers]
    whole = [offer for offer, line in zip(offers, lines, strict=True) if all(word in line for word in words)]
    return whole or [
        offers[place] for place in sorted(rank_matches(wish.query, [offer.name.casefold() for offer in offers]))
    ]


def _no_match(wish: ModelQuery) -> str:
    named = " ".join(wish.terms)
    close = nearest(named, [preset.name for preset in each_preset()], 1)
    if close and not wish.provider:
        return f"no model matches {named!r}; did you mean the provider {close[0]}?"
    more = "" if wish.provider or "--all" in wish.flags else f"; among all there are: cinch models --all {named}"
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
    """The offers in columns; names are cut where that is needed for a width."""
    facts = [
        (window_text(offer.metadata.context_window), price_text(offer.metadata.price), abilities(offer.metadata))
        for offer in offers
    ]
    window, price, ability = (max((len(row[place]) for row in facts), default=0) for place in range(3))
    room = max((len(offer.name) for offer in offers), default=0)
    if width:
        room = min(room, max(20, width - window - price - ability - 6))
    return [
        f"{_cut(offer.name, room):<{room}}  {row[0]:>{window}}  {row[1]:<{price}}  {row[2]}".rstrip()
        for offer, row in zip(offers, facts, strict=True)
    ]


def _cut(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _record(offer: Offer) -> JsonObject:
    known = offer.metadata
    return {
        "name": offer.name,
        "provider": offer.provider,
        "id": offer.model_id,
        "listed": offer.is_listed,
        "context_window": known.context_window,
        "max_output": known.max_output,
        "price": asdict(known.price) if known.price else None,
        "images": known.images,
        "tools": known.tools,
        "thinking": known.thinking,
    }


def _show_providers(store: KeyStore, out: Output) -> None:
    local = {server.preset for server in asyncio.run(find_local_servers())}
    for preset in each_preset():
        out.write_text(f"{preset.name:<14} {preset.label:<32} {_state(preset, store, local)}")
    out.write_text(f"{'demo':<14} {'A tour, scripted':<32} needs no key")
    for problem in problems():
        out.write_text(problem)


def _state(preset: Preset, store: KeyStore, local: set[str]) -> str:
    if preset.is_local:
        return f"{'answers' if preset.name in local else 'nothing answers'} on port {preset.local_port}"
    if secret := store.find(preset.name, preset.variables):
        return f"key from {secret.source}"
    return f"no key; {preset.key_variables[0]} is not set" if preset.key_variables else "needs no key"
