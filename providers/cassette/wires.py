"""Wires between a provider and the network: one records exchanges, the other replays them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from providers.cassette.file import CassetteFile
from providers.cassette.recorder import Origin, Recorder
from providers.cassette.replay_queue import ReplayQueue
from providers.cassette.secrets import Secrets, secrets_in
from providers.installed import all_presets

if TYPE_CHECKING:
    import httpx

    from providers.endpoint import Endpoint, Wire


def recording_wire(endpoint: Endpoint, model_id: str, path: Path) -> Wire:
    """Return a wire that appends the exchanges with an endpoint to the cassette at `path`.

    Raises:
        ConfigError: The file cannot be written, or is not a cassette.
    """
    tape = CassetteFile(path.expanduser().absolute())
    tape.open()
    variables = (variable for preset in all_presets().values() for variable in preset.variables)
    secrets = Secrets(secrets_in(os.environ, variables))
    if endpoint.secret is not None:
        secrets.learn(endpoint.secret.value)
    recorder = Recorder(tape, Origin(endpoint.preset.name, model_id, endpoint.base_url), secrets)

    def record(build: Callable[[], httpx.AsyncClient]) -> httpx.AsyncClient:
        # Imports httpx, which is loaded by now.
        from providers.cassette.http_hooks import listen

        return listen(build(), recorder)

    return record


def playback_wire(queue: ReplayQueue) -> Wire:
    """Return a wire that answers from a cassette; the network is not used."""

    def replay(build: Callable[[], httpx.AsyncClient]) -> httpx.AsyncClient:
        # Imports httpx, which is loaded by now.
        from providers.cassette.http_hooks import playback_client

        return playback_client(queue)

    return replay
