from __future__ import annotations

import json
import stat
import sys
import threading
import types
from pathlib import Path

import pytest

from cinch_tui.api_keys.key_store import KeyStore
from cinch_tui.config.paths import find_paths
from harness.errors import ConfigError

KEY = "sk-canary-1234567890"


def store_in(folder: Path, **environ: str) -> KeyStore:
    return KeyStore(find_paths({"CINCH_HOME": str(folder)}), environ)


class Keyring(types.ModuleType):
    """A keyring in memory, in the place of the library that talks to the system's."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def set_password(self, service: str, name: str, password: str) -> None:
        self.kept[(service, name)] = password

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[(service, name)]


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> Keyring:
    ring = Keyring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    return ring


def test_the_environment_comes_first(tmp_path: Path, keyring: Keyring) -> None:
    store = store_in(tmp_path, SOME_KEY=KEY)
    keyring.set_password("cinch", "anthropic", "another")

    secret = store.find("anthropic", ["MISSING", "SOME_KEY"])

    assert secret is not None
    assert (secret.value, secret.source) == (KEY, "environment variable SOME_KEY")


def test_the_keyring_keeps_a_key(tmp_path: Path, keyring: Keyring) -> None:
    store = store_in(tmp_path)

    where = store.store("anthropic", KEY)

    assert where == "system keyring"
    assert keyring.kept == {("cinch", "anthropic"): KEY}
    assert KEY not in store.file.read_text()
    found = store.find("anthropic", [])
    assert found is not None
    assert (found.value, found.source) == (KEY, "system keyring")


def test_a_key_put_into_the_keyring_by_hand_is_found(tmp_path: Path, keyring: Keyring) -> None:
    keyring.set_password("cinch", "anthropic", KEY)

    found = store_in(tmp_path).find("anthropic", [])

    assert found is not None
    assert found.value == KEY


def test_a_server_that_needs_no_key_does_not_wait_for_the_keyring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    before = threading.active_count()

    assert store_in(tmp_path).find("ollama", []) is None
    assert threading.active_count() == before


def test_without_a_keyring_the_key_is_in_a_file_only_its_owner_reads(tmp_path: Path) -> None:
    store = store_in(tmp_path, CINCH_KEYRING="off")

    where = store.store("anthropic", KEY)

    assert where == str(store.file)
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    assert json.loads(store.file.read_text()) == {"anthropic": KEY}
    found = store.find("anthropic", [])
    assert found is not None
    assert (found.value, found.source) == (KEY, str(store.file))


def test_a_keyring_that_fails_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", types.ModuleType("keyring"))
    store = store_in(tmp_path)

    assert store.store("anthropic", KEY) == str(store.file)


def test_a_keyring_that_never_answers_is_not_waited_for(
    tmp_path: Path, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = threading.Event()
    asked: list[str] = []
    monkeypatch.setattr("cinch_tui.api_keys.system_keyring.TIMEOUT_S", 0.05)
    monkeypatch.setattr(keyring, "get_password", lambda _, name: asked.append(name) or answer.wait(10))
    store = store_in(tmp_path)

    assert [store.find(name, []) for name in ("anthropic", "openai", "openrouter")] == [None] * 3
    # Nor asked again while it is silent: a start asks it for every provider there is.
    assert asked == ["anthropic"]

    answer.set()


def test_a_new_key_replaces_only_its_own(tmp_path: Path) -> None:
    store = store_in(tmp_path, CINCH_KEYRING="off")

    store.store("anthropic", "old")
    store.store("openrouter", "other")
    store.store("anthropic", KEY)

    assert json.loads(store.file.read_text()) == {"anthropic": KEY, "openrouter": "other"}


def test_a_damaged_file_is_reported_without_its_content(tmp_path: Path) -> None:
    store = store_in(tmp_path, CINCH_KEYRING="off")
    store.file.parent.mkdir(parents=True)
    store.file.write_text(f'{{"anthropic": "{KEY}')

    with pytest.raises(ConfigError, match="is not valid JSON") as caught:
        store.find("anthropic", [])

    assert KEY not in str(caught.value)


def test_no_repr_shows_a_key(tmp_path: Path) -> None:
    store = store_in(tmp_path, SOME_KEY=KEY)

    assert KEY not in repr(store)
    assert KEY not in repr(store.find("anthropic", ["SOME_KEY"]))
