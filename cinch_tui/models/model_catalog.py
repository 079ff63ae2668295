"""Catalog of models for the picker: known models at once, updated while providers answer."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence

from textual.app import App

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.models.offers import ProviderOffers, ask_providers, offers_of, pulled_offers, ready_providers, summary
from cinch_tui.screens.picker import Item, Picker
from harness.errors import CinchError
from harness.messages import AssistantMessage, Message, ModelSpec
from providers.installed import each_preset, find_preset
from providers.model_catalog.metadata import ModelMetadata
from providers.model_catalog.offers import Offer, priced_offers

TOUR = "demo/tour"
PULLED = "local"


class ModelCatalog:
    """Models by provider; `ask` queries the providers."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._offers: dict[str, Sequence[Offer]] = {}
        self._known: dict[str, ModelMetadata] = {}
        self._silent: dict[str, str] = {}
        self._awaited: set[str] = set()

    @property
    def offers(self) -> list[Offer]:
        """The models known so far, in the order of the providers."""
        names = [*(preset.name for preset in each_preset()), PULLED]
        return [offer for name in names for offer in self._offers.get(name, ())]

    @property
    def note(self) -> str:
        """The providers that have not answered yet, or those that failed."""
        if self._awaited:
            return f"asking {', '.join(sorted(self._awaited))}…"
        match list(self._silent.items()):
            case []:
                return ""
            case [(name, problem)]:
                return f"no answer from {name}: {problem}"
            case several:
                return f"no answer from {', '.join(name for name, _ in several)}; for details, run cinch models"

    def known(self, name: str) -> ModelMetadata:
        """Return the metadata of a model, which may be empty."""
        return self._known.get(name, ModelMetadata())

    async def ask(self, spec: ModelSpec, changed: Callable[[], None]) -> None:
        """Query all providers with a key and local servers; `changed` is called after each update."""
        self._silent.clear()
        try:
            ready = await asyncio.to_thread(ready_providers, self._keys, spec.provider)
        except CinchError as error:
            self._silent["the key file"] = str(error)
            ready = []
        self._awaited = {preset.name for preset in ready}
        changed()
        self._put(PULLED, await asyncio.to_thread(pulled_offers))
        for preset in ready:
            if preset.name not in self._offers:
                self._put(preset.name, await priced_offers(preset))
        changed()

        def on_offers(answer: ProviderOffers) -> None:
            name = answer.preset.name
            self._awaited.discard(name)
            self._put(name, answer.offers)
            if answer.problem:
                self._silent[name] = answer.problem
            changed()

        # The current model may have a base URL of its own.
        elsewhere = find_preset(spec.provider) if spec.base_url else None
        async with asyncio.TaskGroup() as group:
            group.create_task(ask_providers([preset for preset in ready if preset != elsewhere], self._keys, on_offers))
            if elsewhere is not None:
                on_offers(await offers_of(elsewhere, self._keys, spec.base_url))

    def _put(self, provider: str, offers: Sequence[Offer]) -> None:
        self._offers[provider] = offers
        self._known |= {offer.name: offer.metadata for offer in offers}


async def pick_model(app: App[object], catalog: ModelCatalog, spec: ModelSpec, used: Sequence[str]) -> str | None:
    """Let the user choose a model; the list is shown at once and grows while providers answer."""

    def lines() -> list[Item[str]]:
        return items(catalog, spec.name, used)

    picker = Picker("Choose a model", lines(), current=spec.name, typed=lambda text: typed(text, spec.provider))
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(catalog.ask(spec, lambda: picker.refill(lines(), catalog.note)))
        chosen = await app.push_screen_wait(picker)
        asking.cancel()
    return chosen


def used_in(messages: Iterable[Message]) -> list[str]:
    """Return the models that replied in a conversation, latest first."""
    names = [f"{reply.provider}/{reply.model}" for reply in messages if isinstance(reply, AssistantMessage)]
    return list(dict.fromkeys(reversed(names)))


def items(catalog: ModelCatalog, current: str, recent: Sequence[str]) -> list[Item[str]]:
    """Return a list item for each model; the current one and those used before come first."""
    marks = dict.fromkeys(recent, "used here") | {current: "in use"}
    names = dict.fromkeys([current, *recent, *(offer.name for offer in catalog.offers), TOUR])
    return [
        Item(name, " · ".join(part for part in (marks.get(name), summary(catalog.known(name))) if part), name)
        for name in names
    ]


def typed(text: str, provider: str) -> Item[str] | None:
    """Return the model for a typed name that is not in the list: a full name, or one of the current provider."""
    text = text.strip()
    if not re.fullmatch(r"\S+", text):
        return None
    preset, _, model_id = text.partition("/")
    if find_preset(preset) is None:
        return Item(f"{provider}/{text}", "as typed", f"{provider}/{text}")
    # Model names almost always contain a digit or a hyphen; other text is a filter.
    return Item(text, "as typed", text) if re.search(r"[\d-]", model_id) else None
