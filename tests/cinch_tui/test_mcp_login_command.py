"""`cinch mcp login` and `logout` as processes, with a browser that is a program."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pexpect
import pytest
from fakes.cinch_process import CINCH
from fakes.oauth_service import OAuthService

BROWSER = """\
import sys, urllib.request
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1]).read())
"""


@pytest.fixture
async def service() -> AsyncGenerator[OAuthService]:
    async with OAuthService().running() as running:
        yield running


@pytest.fixture(autouse=True)
def home(service: OAuthService, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = own_home / "cinch"
    (home / "config.toml").write_text(f'[mcp.servers.guarded]\nurl = "{service.url}"\n')
    (own_home / "browser.py").write_text(BROWSER)
    monkeypatch.setenv("BROWSER", f"{sys.executable} {own_home / 'browser.py'}")
    return home


async def cinch(*argv: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *CINCH,
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def test_login_and_logout(service: OAuthService, home: Path):
    status, text = await cinch("mcp", "login", "guarded")
    assert status == 0, text
    assert text.startswith("Log in to guarded at 127.0.0.1:\n\nhttp://127.0.0.1:")
    assert text.endswith("Logged in to guarded.\n")
    [file] = (home / "data" / "mcp").glob("guarded-*/credentials.json")
    [access], [refresh] = service.accounts.access, service.accounts.refresh
    assert access in file.read_text()
    assert access not in text

    assert await cinch("mcp", "logout", "guarded") == (0, "Logged out of guarded.\n")
    assert not file.exists()
    assert service.accounts.revoked == [refresh, access]
    assert await cinch("mcp", "logout", "guarded") == (0, "There is no login for guarded.\n")


async def test_denied_login_fails(service: OAuthService, home: Path):
    service.accounts.consents = False

    status, text = await cinch("mcp", "login", "guarded")

    assert (status, text.splitlines()[-1]) == (
        1,
        "cinch: MCP server guarded: 127.0.0.1 denied the login: access_denied: Ada said no",
    )
    assert not (home / "data" / "mcp").exists()


async def test_unreachable_server_is_named(service: OAuthService, home: Path):
    (home / "config.toml").write_text(f'[mcp.servers.guarded]\nurl = "http://127.0.0.1:{service.free_port}"\n')

    status, text = await cinch("mcp", "login", "guarded")

    assert status == 1
    assert "MCP server guarded: cannot connect to 127.0.0.1" in text


@pytest.mark.pty
async def test_address_is_shown_before_enter_opens_it_and_may_be_pasted(
    service: OAuthService, monkeypatch: pytest.MonkeyPatch
):
    import httpx2

    monkeypatch.delenv("BROWSER")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))

    def expect(pattern: str) -> str:
        child.expect(pattern)
        return str(child.after)

    child: Any = pexpect.spawn(  # pyright: ignore[reportUnknownVariableType] - pexpect has no types
        CINCH[0], [*CINCH[1:], "mcp", "login", "guarded"], env=os.environ, encoding="utf-8", timeout=30
    )
    child.setwinsize(24, 1000)
    url = (await asyncio.to_thread(expect, r"http://\S+/authorize\S+")).strip()
    await asyncio.to_thread(expect, "Press Enter")
    child.sendline("")
    await asyncio.to_thread(expect, "There is no browser on this machine")
    child.sendline("http://127.0.0.1:1/callback?code=1&state=2")
    await asyncio.to_thread(expect, "this is not the address of this login")
    async with httpx2.AsyncClient(trust_env=False) as elsewhere:
        child.sendline((await elsewhere.get(url)).headers["location"])
    await asyncio.to_thread(expect, r"Logged in to guarded\.")
    await asyncio.to_thread(child.expect, pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
