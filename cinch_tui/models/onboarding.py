"""Onboarding: shows the welcome screen and connects the chosen model."""

from __future__ import annotations

import asyncio

from textual.app import App

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.api_keys.provider_key import EnteredKey, KeyAccepted, KeyCheck, check_key
from cinch_tui.config.options import Options
from cinch_tui.config.paths import save_json
from cinch_tui.models.connecting import ModelChoice, connect
from cinch_tui.screens.picker import Item, Picker
from cinch_tui.screens.welcome import NO_MODEL, Leave, TakeTour, UseKey, UseLocal, WelcomeScreen
from cinch_tui.transcript.blocks import as_sentence
from harness.errors import CinchError, ConfigError
from harness.ports.provider import Model
from providers import all_presets, list_models
from providers.model_catalog.local_servers import find_local_servers


async def ask_for_model(app: App[object], options: Options, reason: str) -> Model | None:
    """Let the user choose a model; None if they quit. A choice that fails is reported and asked again.

    Args:
        app: the app.
        options: options of the start.
        reason: why there is no model; empty if nothing is configured yet.
    """
    keys = KeyStore(options.paths, options.environ)
    while True:
        why = as_sentence(reason) if reason else NO_MODEL
        choice = await app.push_screen_wait(WelcomeScreen(find_local_servers, _check, why=why))
        if isinstance(choice, Leave):
            return None
        try:
            model = await _model(app, choice, keys)
        except CinchError as error:
            reason = str(error)
        else:
            if not isinstance(choice, TakeTour):
                save_json(options.paths.choice_file, ModelChoice(model.spec.name, model.spec.base_url))
            return model


async def _check(choice: UseKey) -> KeyCheck:
    return await check_key(all_presets()[choice.preset], choice.secret, base_url=choice.base_url)


async def _model(app: App[object], choice: UseKey | UseLocal | TakeTour, keys: KeyStore) -> Model:
    match choice:
        case TakeTour():
            return connect("demo")
        case UseLocal(preset, base_url, model):
            return connect(f"{preset}/{model}", base_url=base_url)
        case UseKey(preset, secret, base_url):
            is_complete = all_presets()[preset].default_model and not base_url
            name = preset if is_complete else await _model_at(app, choice)
            place = await asyncio.to_thread(keys.store, preset, secret)
            checked = "was accepted and is" if isinstance(choice.verdict, KeyAccepted) else "was not checked. It is"
            app.notify(f"The key {checked} stored in {place}.", timeout=8, markup=False)
            return connect(name, base_url=base_url or None, credentials=keys)


async def _model_at(app: App[object], choice: UseKey) -> str:
    names = await list_models(choice.preset, base_url=choice.base_url or None, credentials=EnteredKey(choice.secret))
    name = await app.push_screen_wait(Picker("Choose a model", [Item(name, "", name) for name in names]))
    if name is None:
        raise ConfigError("No model selected; the key was not stored.")
    return f"{choice.preset}/{name}"
