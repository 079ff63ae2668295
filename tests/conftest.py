"""Every test runs in a home of its own, without keys, without a keyring and without the network."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples in every run: a failure belongs to the change that is looked at, and can be repeated.
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")

# In the background of a script these are ignored, and so they are by whatever the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# What a test must not inherit from whoever runs it.
FOREIGN = (
    "_API_KEY",
    "_API_TOKEN",
    "_AUTH_TOKEN",
    "_BASE_URL",
    "_PROXY",
    "OPENROUTER_KEY",
    "VISUAL",
    "EDITOR",
    "NO_COLOR",
    "XTERM_VERSION",
    "KONSOLE_VERSION",
)
GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("pty"):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith("CINCH_") or name.upper().endswith(FOREIGN):
            monkeypatch.delenv(name)
    own = {"HOME": str(home), "CINCH_HOME": str(home / "cinch"), "CINCH_KEYRING": "off", **GIT}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: tuple[str, int] | str) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test wants to reach {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
