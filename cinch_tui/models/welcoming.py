"""From a person without a model to a model: shows the welcome screen and makes what was chosen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from cinch_tui.credentials import KeyStore
from cinch_tui.models.connecting import connect
from cinch_tui.models.last_choice import Choice, remember
from cinch_tui.options import Options
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.welcome import Leave, TakeTour, UseKey, UseLocal, WelcomeScreen
from cinch_tui.transcript.blocks import as_sentence
from harness.errors import CinchError, ConfigError
from harness.lazy_dataclass import dataclass
from providers import Credentials, Secret, list_models
from providers.offers.local import find_local_servers

if TYPE_CHECKING:
    from textual.app import App

    from harness.provider import Model


@dataclass(frozen=True, slots=True)
class Typed:
    """A key that is not kept yet: it may be wrong."""

    value: str = field(repr=False)

    def find(self, preset_name: str, variables: Sequence[str]) -> Secret:
        del preset_name, variables
        return Secret(self.value, "the welcome screen")


async def ask_for_model(app: App[object], options: Options, reason: str) -> Model | None:
    """The model the person chose; None when they leave. A choice that cannot work is told, and asked again."""
    keys = KeyStore(options.paths, options.environ)
    while True:
        choice = await app.push_screen_wait(WelcomeScreen(find_local_servers, why=as_sentence(reason)))
        if isinstance(choice, Leave):
            return None
        try:
            model = await _model(app, choice, keys)
        except CinchError as error:
            reason = str(error)
        else:
            if not isinstance(choice, TakeTour):
                remember(options.paths.choice_file, Choice(model.spec.name, model.spec.base_url))
            return model


async def _model(app: App[object], choice: UseKey | UseLocal | TakeTour, keys: KeyStore) -> Model:
    match choice:
        case TakeTour():
            return connect("demo")
        case UseLocal(preset, base_url, model):
            return connect(f"{preset}/{model}", base_url=base_url)
        case UseKey(preset, secret, base_url):
            name = await _model_at(app, choice) if base_url else preset
            await asyncio.to_thread(keys.store, preset, secret)
            return connect(name, base_url=base_url or None, credentials=keys)


async def _model_at(app: App[object], choice: UseKey) -> str:
    names = await list_models(choice.preset, base_url=choice.base_url, credentials=Typed(choice.secret))
    name = await app.push_screen_wait(Picker("Which model?", [Item(name, "", name) for name in names]))
    if name is None:
        raise ConfigError("No model was chosen, and the key is not kept.")
    return f"{choice.preset}/{name}"


if TYPE_CHECKING:
    _: type[Credentials] = Typed
