"""Hooks that are HTTP endpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.local_http import Handler, LocalHttp
from fakes.runs import calls, results_of
from fakes.user_hooks import HookedAgent, decision, group

from extensions.hooks.config import HookHandler, HookSource
from extensions.hooks.running import HookExecutor, HookPlace

LOOK = calls("bash", command="echo looked")


class _Endpoint(LocalHttp):
    """Replies to each request with the same status and body, and keeps the requests."""

    def __init__(self, body: str, status: int = 200) -> None:
        super().__init__(_Handler)
        self.reply = (status, body.encode())
        self.requests: list[tuple[dict[str, str], Any]] = []


class _Handler(Handler):
    def do_POST(self) -> None:  # noqa: N802 - the name is given
        fake = self.server.fake
        length = int(self.headers["content-length"])
        fake.requests.append(
            ({key.lower(): value for key, value in self.headers.items()}, json.loads(self.rfile.read(length)))
        )
        self.send_body(*fake.reply)


async def run(folder: Path, endpoint: _Endpoint, **fields: Any) -> HookedAgent:
    hook = {"type": "http", "url": f"{endpoint.url}/check?x=1", **fields}
    hooked = HookedAgent(folder, {"PreToolUse": [group(hook)]}, LOOK, "ok")
    await hooked.agent.prompt("go")
    await hooked.session.close("other")
    return hooked


async def test_endpoint_receives_the_event_and_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOOK_TOKEN", "t0ken")
    monkeypatch.setenv("OTHER", "secret")
    headers = {"Authorization": "Bearer $HOOK_TOKEN", "X-Other": "${OTHER}"}
    with _Endpoint(json.dumps(decision("deny", "not here"))) as endpoint:
        hooked = await run(tmp_path, endpoint, headers=headers, allowedEnvVars=["HOOK_TOKEN"])

    [(sent, event)] = endpoint.requests
    assert (sent["authorization"], sent["x-other"], sent["content-type"]) == ("Bearer t0ken", "", "application/json")
    assert (event["hook_event_name"], event["tool_name"]) == ("PreToolUse", "Bash")
    assert results_of(hooked.agent)[0].text == "Blocked by a hook: not here"


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (500, "", "HTTP status 500"),
        (302, "", "HTTP status 302"),
        (200, "fine", "did not reply with JSON"),
        (200, "", ""),
    ],
)
async def test_other_responses_decide_nothing(tmp_path: Path, status: int, body: str, problem: str):
    with _Endpoint(body, status) as endpoint:
        hooked = await run(tmp_path, endpoint)

    assert "looked" in results_of(hooked.agent)[0].text
    assert [problem in each and "x=1" not in each for each in hooked.notices] == ([True] if problem else [])


@pytest.mark.parametrize(
    ("url", "problem"),
    [("http://hooks.invalid/x", "is not encrypted"), ("http://127.0.0.1:1/x", "127.0.0.1:1"), ("https://[x/", "")],
)
async def test_endpoint_that_cannot_be_reached_fails(tmp_path: Path, url: str, problem: str):
    executor = HookExecutor(HookPlace(tmp_path, tmp_path, {}))

    output = await executor.run(HookHandler("Stop", HookSource(tmp_path, "user"), url=url), b"{}")
    await executor.close()

    assert output.exit_code is None
    assert output.failure
    assert problem in output.failure
