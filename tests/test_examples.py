from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from fakes.model_server import ModelServer, Reply

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOT_STARTED = {"which_model", "web_service"}
PRINTED = {
    "ten_lines": """
        They show how to embed an agent, one idea a file.
        \\d+ tokens read, \\d+ written
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
    "approvals": """
        bash: refused
        write_file: done
        I wrote the note; I was not allowed to delete the old ones.
        The note: Buy tea.
    """,
    "structured_output": """
        Ada Byron: 2 x tea
        Ada Byron: 1 x kettle
    """,
    "two_agents": """
        \\[(for|against)\\] has spoken
        \\[(for|against)\\] has spoken
        for: Yes: one file, no server, and thousands of orders a day are nothing to it.
        against: No: with two web servers there is no shared file to write to.
    """,
    "hooks_and_policies": """
        audit: list_files {.*'path': 'examples'.*} -> ok
        I looked at the examples only, and could not go online.
        rejected: there seems to be an API key in it; say it without
    """,
    "fallback_and_routing": """
        turn 2 asks demo/powerful
        attempt 1 failed: too many people are asking
        demo/powerful is given up, demo/spare is asked instead
        Each shows one idea.
    """,
    "sub_agents": """
        > demo/script begins
        < 4 messages
        > demo/script begins
        < 2 messages
        Here is your slogan: Tea: eighteen centuries in a cup.
    """,
    "parallel_models": """
          1. Leaf & Letter; it may be taken for a bookshop.
        \\* 2. Steep.
        because: 2: it is short, and it says what is sold.
        then: Gladly: the domain is free.
    """,
}


def environment(**more: str) -> dict[str, str]:
    """This process's, without any key of a model service."""
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
def test_every_example_runs_and_prints_what_it_should(name: str) -> None:
    wanted = [line.removeprefix("        ") for line in PRINTED[name].splitlines() if line.strip()]

    done = run(name, *([] if name == "fallback_and_routing" else ["--demo"]))

    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert len(printed) == len(wanted), done.stdout
    assert [line for line, form in zip(printed, wanted, strict=True) if not re.fullmatch(form, line)] == []


def test_no_example_is_forgotten_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == PRINTED.keys() | NOT_STARTED


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_read_in_a_minute(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60


def test_without_a_key_a_script_answers_and_says_so() -> None:
    done = run("ten_lines")

    assert done.stdout.startswith("They show how to embed an agent")
    assert done.stderr.startswith("(A script answers, not a model")


def test_an_example_asks_the_model_that_is_named(tmp_path: Path) -> None:
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
    """A client of the web service, which runs in a process and a folder of its own."""
    command = [sys.executable, str(EXAMPLES / "web_service.py"), "--demo"]
    with subprocess.Popen(command, cwd=folder, env=environment(PORT="0"), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+", line)))
            with httpx.Client(base_url=address, timeout=10) as client:
                yield client
        finally:
            process.terminate()


def events_of(response: httpx.Response) -> Generator[dict]:
    return (json.loads(line.removeprefix("data: ")) for line in response.iter_lines() if line)


def test_the_web_service_streams_events_and_takes_approvals(tmp_path: Path) -> None:
    seen, statuses = [], []
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


def test_the_web_service_takes_steering(tmp_path: Path) -> None:
    ended = {}
    with served(tmp_path) as client, client.stream("POST", "/chat", json={"prompt": "Note to buy tea."}) as answer:
        for event in events_of(answer):
            ended = event
            if event["type"] == "tool_approval_requested":
                client.post(f"/chat/{event['session_id']}", json={"steer": "Wait, not tea."})
                client.post(f"/chat/{event['session_id']}", json={"call": event["call"]["id"], "allow": True})

    texts = ["".join(block.get("text", "") for block in message["content"]) for message in ended["messages"]]
    assert texts == ["Note to buy tea.", "", "Skipped due to queued user message.", "Wait, not tea.", "It is noted."]
    assert list(tmp_path.iterdir()) == []


def test_the_web_service_ends_the_run_of_a_visitor_who_leaves(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        with client.stream("POST", "/chat", json={"prompt": "Note to buy tea."}) as answer:
            asked = next(event for event in events_of(answer) if event["type"] == "tool_approval_requested")
        late = {"call": asked["call"]["id"], "allow": True}

        path = f"/chat/{asked['session_id']}"
        statuses = (client.post(path, json={"steer": "Hello?"}).status_code for _ in range(1_000))

        assert next(status for status in statuses if status != 200) == 400
        assert client.post(path, json=late).status_code == 400
    assert list(tmp_path.iterdir()) == []
