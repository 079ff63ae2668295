"""Isolation of every test: a home directory of its own, no keys, no keyring, no network."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import os
import re
import shutil
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import fork_server
from hypothesis import settings

# The same examples in every run: a failure is caused by the change under test and can be reproduced.
settings.register_profile("cinch", derandomize=True, deadline=None, database=None)
settings.load_profile("cinch")

# A background job of a script ignores these signals, and so would every process the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# Many tests start cinch in processes of their own, which would compile all modules each time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# The garbage collector would look through all collected tests again and again, which takes as long as half of them.
gc.disable()

LOOPBACK = ("127.0.0.1", "::1", "localhost")
# Variables a test must not inherit from the environment: names with these endings.
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


# Set by .ci/run: a missing program or module fails its tests instead of skipping them.
REQUIRE_ALL = "REQUIRE_ALL_TESTS"


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [
        *(name for mark in item.iter_markers("requires_program") for name in mark.args if shutil.which(name) is None),
        *(name for mark in item.iter_markers("requires_module") for name in mark.args if not is_installed(name)),
    ]
    if missing and os.environ.get(REQUIRE_ALL):
        pytest.fail(f"not installed: {', '.join(missing)} ({REQUIRE_ALL} is set)", pytrace=False)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("pty"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    # An app under test allocates so many objects that the default thresholds cost a tenth of the time.
    gc.set_threshold(10_000, 10, 5)
    gc.enable()


def pytest_sessionfinish() -> None:
    fork_server.stop()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield new directories; `mktemp` lists all earlier ones to number the next, which adds up."""
    base = tmp_path_factory.mktemp("homes")
    return (base / str(number) for number in itertools.count())


@pytest.fixture(scope="session")
def git_environ() -> dict[str, str]:
    """Return an environment for git in fixtures that are set up before `own_home`."""
    return {**os.environ, **GIT}


@pytest.fixture(autouse=True)
def own_home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    home = next(homes)
    home.mkdir()
    for name in list(os.environ):
        if name.startswith("CINCH_") or name.upper().endswith(FOREIGN):
            monkeypatch.delenv(name)
    own = {"HOME": str(home), "CINCH_HOME": str(home / "cinch"), "CINCH_KEYRING": "off", **GIT}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture(scope="session")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prices")


@pytest.fixture
def shared_prices(prices: Path, own_home: Path) -> None:
    """Keep the cache of prices for the next test; without it, every start loads the price data in a subprocess."""
    cache = own_home / "cinch" / "cache"
    cache.mkdir(parents=True, mode=0o700)
    (cache / "prices").symlink_to(prices)


@pytest.fixture
def tmp_path(own_home: Path) -> Path:
    """Return a new directory, numbered like the home of the test, for the reason given at `homes`."""
    test = os.environ["PYTEST_CURRENT_TEST"].partition("::")[2]
    name = re.sub(r"\W", "_", test)[:30]
    path = own_home.with_name(f"{name}{own_home.name}")
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def _own_commands_only() -> Iterator[None]:
    """Remove the commands that a test has added for skills, files, tasks or MCP servers: the registry is shared."""
    before = _command_groups()
    yield
    if before:
        from cinch_tui.commands.builtin import builtin_commands
        from cinch_tui.commands.registry import CommandGroup

        for title in [title for title in _command_groups() if title not in before]:
            builtin_commands().replace_group(CommandGroup(title))


def _command_groups() -> list[str]:
    module = sys.modules.get("cinch_tui.commands.builtin")
    return [group.title for group in module.builtin_commands().groups] if module else []


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def connect_here(self: socket.socket, address: tuple[str, int] | str) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to connect to {address[0]}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect_here)
