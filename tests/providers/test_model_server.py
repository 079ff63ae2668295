from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from fakes import model_server
from fakes.asking import Serve
from fakes.model_server import Reply


def post(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return response.read().decode()


def test_a_script_may_look_at_the_request(serve: Serve) -> None:
    server = serve(lambda body: Reply(f"You are {body['model']}"))

    said = post(f"{server.openai_url}/chat/completions", {"model": "fake"})

    assert "fake" in said
    assert said.endswith("data: [DONE]\n\n")
    assert server.requests[0].body == {"model": "fake"}


def test_an_exhausted_script_raises_a_clear_error(serve: Serve) -> None:
    server = serve([])

    with pytest.raises(urllib.error.HTTPError) as caught:
        post(f"{server.url}/v1/messages", {})

    assert "no more replies" in caught.value.read().decode()
    caught.value.close()


def test_it_runs_by_hand(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"text": "Hi", "calls": [["bash", {"command": "ls"}]], "usage": {"input": 7}}]')
    command = [sys.executable, model_server.__file__, "--repeat", str(script)]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = process.stdout.readline().split()[0].partition("=")[2]
        first, second = (post(f"{url}/v1/messages", {"model": "m"}) for _ in range(2))
        process.terminate()

    assert first.replace("0001", "0002") == second
    assert '"input_tokens":7' in first
