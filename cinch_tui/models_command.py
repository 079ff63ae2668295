"""`cinch models`: who offers models, whether a key is at hand, and what one provider serves."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cinch_tui.credentials import KeyStore
from cinch_tui.output import Output
from cinch_tui.paths import find_paths
from harness.errors import ConfigError
from providers import connect
from providers.catalog import Preset
from providers.installed import all_presets, preset_for, problems
from providers.local import find_local_servers


@runtime_checkable
class Lister(Protocol):
    """A provider that can be asked what it serves."""

    async def models(self) -> list[str]: ...


def run_models(argv: Sequence[str], *, out: Output) -> int:
    """List the providers, or the models of one as names for `--model`.

    Raises:
        ConfigError: there is no such provider, or no key for it.
        ProviderError: it did not answer as it should.
    """
    store = KeyStore(find_paths(os.environ), os.environ)
    match list(argv):
        case []:
            local = {server.preset for server in asyncio.run(find_local_servers())}
            for preset in all_presets().values():
                out.write_text(f"{preset.name:<14}{preset.label:<28}{_state(preset, store, local)}")
            out.write_text(
                f"{'demo':<14}{'A tour, scripted':<28}needs no key\n\ncinch models PROVIDER lists its models"
            )
            for problem in problems():
                out.write_text(problem)
        case [name] if not name.startswith("-"):
            for model in asyncio.run(_models_of(preset_for(name), store)):
                out.write_text(f"{name}/{model}")
        case _:
            raise ConfigError("say at most one provider: cinch models [PROVIDER]")
    return 0


def _state(preset: Preset, store: KeyStore, local: set[str]) -> str:
    if preset.is_local:
        return f"{'answers' if preset.name in local else 'nothing answers'} on port {preset.local_port}"
    secret = store.find(preset.name, preset.variables)
    if secret:
        return f"key from {secret.source}"
    return f"no key; {preset.variables[0]} is not set" if preset.variables else "needs no key"


async def _models_of(preset: Preset, store: KeyStore) -> list[str]:
    # Which model is named does not matter for asking what there is.
    provider = connect(f"{preset.name}/any", credentials=store).provider
    if not isinstance(provider, Lister):
        raise ConfigError(f"{preset.name} cannot be asked for its models")
    try:
        return await provider.models()
    finally:
        await provider.close()
