"""From a person without a model to a model: shows the welcome screen and makes what was chosen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from cinch_tui.credentials import KeyStore
from cinch_tui.options import Options
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.welcome import Leave, TakeTour, UseKey, UseLocal, WelcomeScreen
from harness.errors import CinchError, ConfigError
from providers import connect, list_models
from providers.local import find_local_servers

if TYPE_CHECKING:
    from textual.app import App

    from harness.provider import Model


async def ask_for_model(app: App[object], options: Options, reason: str) -> Model | None:
    """The model the person chose; None when they leave. A choice that cannot work is told, and asked again."""
    keys = KeyStore(options.paths, options.environ)
    while True:
        choice = await app.push_screen_wait(WelcomeScreen(find_local_servers, why=reason))
        if isinstance(choice, Leave):
            return None
        try:
            return await _model(app, choice, keys)
        except CinchError as error:
            reason = str(error)


async def _model(app: App[object], choice: UseKey | UseLocal | TakeTour, keys: KeyStore) -> Model:
    match choice:
        case TakeTour():
            return connect("demo")
        case UseLocal(preset, base_url, model):
            return connect(f"{preset}/{model}", base_url=base_url)
        case UseKey(preset, secret, base_url):
            await asyncio.to_thread(keys.store, preset, secret)
            if not base_url:
                return connect(preset, credentials=keys)
            names = await list_models(preset, base_url=base_url, credentials=keys)
            name = await app.push_screen_wait(Picker("Which model?", [Item(name, "", name) for name in names]))
            if name is None:
                raise ConfigError("No model was chosen. The key is kept.")
            return connect(f"{preset}/{name}", base_url=base_url, credentials=keys)
