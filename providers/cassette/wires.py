"""Wires between a provider and the network: one records exchanges, the other replays them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from providers.cassette.file import CassetteFile
from providers.cassette.replay_queue import ReplayQueue
from providers.cassette.secrets import Secrets, secrets_in
from providers.installed import all_presets

if TYPE_CHECKING:
    import httpx

    from http_client.pool import Wire
    from providers.endpoint import Endpoint

# Both import httpx when they are called; it is loaded by then.


def recording_wire(endpoint: Endpoint, model_id: str, path: Path) -> Wire:
    """Return a wire that appends the exchanges with an endpoint to the cassette at `path`.

    Raises:
        ConfigError: The file cannot be written, or is not a cassette.
    """
    variables = (variable for preset in all_presets().values() for variable in preset.variables)
    key = (endpoint.secret.value,) if endpoint.secret else ()
    tape = CassetteFile(path.expanduser().absolute(), Secrets((*secrets_in(os.environ, variables), *key)))
    tape.open()

    def record(build: Callable[[], httpx.AsyncBaseTransport]) -> httpx.AsyncBaseTransport:
        from providers.cassette.transports import RecordingTransport

        return RecordingTransport(build(), tape, endpoint, model_id)

    return record


def playback_wire(queue: ReplayQueue) -> Wire:
    """Return a wire that answers from a cassette; the network is not used."""

    def replay(build: Callable[[], httpx.AsyncBaseTransport]) -> httpx.AsyncBaseTransport:
        from providers.cassette.transports import replaying_transport

        return replaying_transport(queue)

    return replay
