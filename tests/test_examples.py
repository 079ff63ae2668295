from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from fakes.model_server import ModelServer, Reply

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOT_STARTED = {"which_model", "web_service"}
PRINTED = {
    "ten_lines": """
        They show how to embed an agent, one idea per file.
        \\d+ input tokens, \\d+ output tokens
    """,
    "custom_tool": """
        \\[Price: tea\\]
        \\[The arguments of price do not fit its schema:\\]
        \\[In stock: tea\\]
        \\[12\\]
        \\[Price: tea\\]
        \\[{"article": "tea", "price": 4.5, "currency": "EUR"}\\]
        There are 12 boxes of tea, at 4.50 EUR each.
    """,
    "openapi_tools": """
        \\['openapi__shop__stock'\\]
        There are 12 boxes of tea.
    """,
    "approvals": """
        bash: denied
        write_file: done
        I wrote the note; deleting the old ones was denied.
        The note: Buy tea.
    """,
    "own_policy": """
        This call is denied: only docs/ may be changed.*
        .*docs/index.md.*
        I wrote the page; the program stays as it is.
    """,
    "structured_output": """
        Ada Byron: 2 x tea
        Ada Byron: 1 x kettle
    """,
    "two_agents": """
        \\[(for|against)\\] finished
        \\[(for|against)\\] finished
        for: Yes: one file, no server, and thousands of orders a day are nothing to it.
        against: No: with two web servers there is no shared file to write to.
    """,
    "hooks_and_policies": """
        audit: list_files {.*'path': 'examples'.*} -> ok
        I looked at the examples only, and could not go online.
        rejected: the message seems to contain an API key; remove it
    """,
    "fallback_and_routing": """
        turn 2 uses demo/powerful
        attempt 1 failed: too many requests
        demo/powerful failed, continuing with demo/spare
        Each shows one idea.
    """,
    "subagents": """
        > demo/script starts
        < 4 messages
        > demo/script starts
        < 2 messages
        Here is your slogan: Tea: eighteen centuries in a cup.
    """,
    "agent_file": """
        the file names anthropic/claude-haiku-4-5, thinking low
        reader: \\['read_file', 'list_files', 'find_files', 'grep'\\], 5 turns
        Each shows one idea.
    """,
    "sessions_in_sqlite": """
        new: Nice to meet you, Ada.
        continued: Your name is Ada.
        \\['customer-42'\\]
    """,
    "parallel_models": """
          1. Leaf & Letter; it may be mistaken for a bookshop.
        \\* 2. Steep.
        because: 2: it is short and describes the product.
        then: Yes, the domain is available.
    """,
}


def environment(**more: str) -> dict[str, str]:
    """Return the environment of this process without API keys."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_AUTH_TOKEN"))}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def run(name: str, *arguments: str, cwd: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("name", PRINTED)
def test_example_prints_the_expected_output(name: str) -> None:
    wanted = [line.removeprefix("        ") for line in PRINTED[name].splitlines() if line.strip()]

    done = run(name, *([] if name == "fallback_and_routing" else ["--demo"]))

    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert len(printed) == len(wanted), done.stdout
    assert [line for line, form in zip(printed, wanted, strict=True) if not re.fullmatch(form, line)] == []


def test_every_example_is_tested() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == PRINTED.keys() | NOT_STARTED


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


def test_without_a_key_the_example_plays_a_script_and_reports_it() -> None:
    done = run("ten_lines")

    assert done.stdout.startswith("They show how to embed an agent")
    assert done.stderr.startswith("(A script answers instead of a model")


def test_example_uses_the_named_model(tmp_path: Path) -> None:
    with ModelServer([Reply("They are examples.")]) as server:
        done = run(
            "ten_lines",
            "--model",
            "openai-chat/m",
            OPENAI_BASE_URL=server.openai_url,
            OPENAI_API_KEY="none",
            cwd=tmp_path,
        )

    assert done.stdout.startswith("They are examples.\n"), done.stderr
    assert done.stderr == ""


@contextmanager
def served(folder: Path) -> Generator[httpx.Client]:
    """Run the web service in its own process and folder; yield a client."""
    command = [sys.executable, str(EXAMPLES / "web_service.py"), "--demo"]
    with subprocess.Popen(command, cwd=folder, env=environment(PORT="0"), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
            with httpx.Client(base_url=address, timeout=10) as client:
                yield client
        finally:
            process.terminate()


def events_of(response: httpx.Response) -> Generator[dict[str, Any]]:
    return (json.loads(line.removeprefix("data: ")) for line in response.iter_lines() if line)


def test_web_service_streams_events_and_accepts_approvals(tmp_path: Path) -> None:
    seen, statuses = list[str](), list[int]()
    with served(tmp_path) as client, client.stream("POST", "/chat", json={"prompt": "Note to buy tea."}) as answer:
        for event in events_of(answer):
            seen.append(event["type"])
            if event["type"] == "tool_approval_requested":
                reply = {"call": event["call"]["id"], "allow": True}
                for call_id in ("another", event["call"]["id"]):
                    answered = client.post(f"/chat/{event['session_id']}", json={**reply, "call": call_id})
                    statuses.append(answered.status_code)

    assert statuses == [409, 200]
    assert [kind for kind in seen if "message" not in kind] == [
        *("agent_start", "turn_start", "request_start", "usage_update"),
        *(
            "tool_calls_received",
            "tool_approval_requested",
            "tool_approval_resolved",
            "tool_execution_start",
            "tool_execution_end",
            "turn_end",
        ),
        *("turn_start", "request_start", "usage_update", "turn_end", "agent_end"),
    ]
    assert (tmp_path / "note.md").read_text(encoding="utf-8") == "Buy tea.\n"


def test_web_service_accepts_steering(tmp_path: Path) -> None:
    ended: dict[str, Any] = {}
    with served(tmp_path) as client, client.stream("POST", "/chat", json={"prompt": "Note to buy tea."}) as answer:
        for event in events_of(answer):
            ended = event
            if event["type"] == "tool_approval_requested":
                client.post(f"/chat/{event['session_id']}", json={"steer": "Wait, not tea."})
                client.post(f"/chat/{event['session_id']}", json={"call": event["call"]["id"], "allow": True})

    texts = ["".join(block.get("text", "") for block in message["content"]) for message in ended["messages"]]
    assert texts == ["Note to buy tea.", "", "Skipped due to queued user message.", "Wait, not tea.", "Noted."]
    assert list(tmp_path.iterdir()) == []


def test_web_service_aborts_the_run_on_disconnect(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        with client.stream("POST", "/chat", json={"prompt": "Note to buy tea."}) as answer:
            asked = next(event for event in events_of(answer) if event["type"] == "tool_approval_requested")
        late = {"call": asked["call"]["id"], "allow": True}

        path = f"/chat/{asked['session_id']}"
        statuses = (client.post(path, json={"steer": "Hello?"}).status_code for _ in range(1_000))

        assert next(status for status in statuses if status != 200) == 400
        assert client.post(path, json=late).status_code == 400
    assert list(tmp_path.iterdir()) == []
