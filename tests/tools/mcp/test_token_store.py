from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from harness.errors import ConfigError
from tools.mcp.auth.token_store import Login, TokenStore
from tools.mcp.server_config import McpServer

SERVER = McpServer("docs", url="https://mcp.example/mcp")
LOGIN = Login(tokens={"access_token": "s3cret", "refresh_token": "s3cret-too"}, expires_at=12.5)


class MemoryKeyring:
    def __init__(self, *, works: bool = True) -> None:
        self.kept: dict[str, str] = {}
        self._works = works

    def get(self, name: str) -> str | None:
        return self.kept.get(name)

    def set(self, name: str, password: str) -> bool:
        if self._works:
            self.kept[name] = password
        return self._works

    def delete(self, name: str) -> None:
        self.kept.pop(name, None)


def files(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.rglob("*.json"))


@pytest.mark.parametrize("works", [True, False])
def test_keyring_is_preferred_to_a_file(tmp_path: Path, works: bool):
    keyring = MemoryKeyring(works=works)
    store = TokenStore(tmp_path, keyring)

    store.save(SERVER, LOGIN)

    assert TokenStore(tmp_path, keyring).load(SERVER) == LOGIN
    assert ("s3cret" in files(tmp_path), len(keyring.kept)) == ((False, 1) if works else (True, 0))
    store.delete(SERVER)
    assert (store.load(SERVER), store.has_login(SERVER), keyring.kept) == (None, False, {})


@pytest.mark.parametrize("other", [McpServer("docs", url="https://evil.example/mcp"), McpServer("d", url=SERVER.url)])
def test_login_is_of_one_name_and_address(tmp_path: Path, other: McpServer):
    store = TokenStore(tmp_path)

    store.save(SERVER, LOGIN)

    assert store.load(other) is None


def test_damaged_file_is_no_login_and_is_not_quoted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    store = TokenStore(tmp_path)
    store.save(SERVER, LOGIN)
    [file] = tmp_path.rglob("*.json")
    file.write_text(file.read_text().replace('"expires_at":12.5', '"expires_at":"s3cret"'))

    with caplog.at_level(logging.DEBUG):
        assert store.load(SERVER) is None

    assert "cannot be read" in caplog.text
    assert "s3cret" not in caplog.text


def test_login_that_cannot_be_stored_is_reported(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")

    with pytest.raises(ConfigError, match="the login cannot be stored"):
        TokenStore(blocked).save(SERVER, LOGIN)


async def test_lock_excludes_other_stores_until_it_is_released(tmp_path: Path):
    order: list[str] = []
    first = TokenStore(tmp_path)

    async def refresh() -> None:
        async with TokenStore(tmp_path).lock(SERVER):
            order.append("second")

    async with first.lock(SERVER):
        waiting = asyncio.create_task(refresh())
        await asyncio.sleep(0)
        order.append("first")
    await waiting

    assert order == ["first", "second"]


async def test_folder_that_cannot_be_written_does_not_prevent_a_refresh(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    reached = False

    async with TokenStore(blocked).lock(SERVER):
        reached = True

    assert reached
