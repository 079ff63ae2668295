from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.fork_server import run_forked
from fakes.model_server import Cut, Failure, Hang, Item, ModelServer, Reply

from harness.session.notes import ModeNote
from harness.session.records import iso, to_bytes

WRITE = Reply("I will write.", calls=[("write_file", {"path": "new.txt", "content": "hello\n"})])
READ = Reply("Let me look.", calls=[("read_file", {"path": "a.txt"})])
KEY = "sk-canary-0123456789"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("alpha\n")
    return tmp_path


def command(*arguments: str, model: str = "anthropic/fake-model") -> list[str]:
    return [sys.executable, "-m", "cinch_tui", "-p", "-m", model, *arguments]


def environment(server: ModelServer) -> dict[str, str]:
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "CINCH_RETRY_MAX_RETRIES": "0"}
    return {**os.environ, **keys, "ANTHROPIC_BASE_URL": server.url, "OPENAI_BASE_URL": server.openai_url}


def ask(
    folder: Path, script: list[Item], *arguments: str, model: str = "anthropic/fake-model", stdin: str = ""
) -> tuple[subprocess.CompletedProcess[str], ModelServer]:
    with ModelServer(script) as server:
        done = run_forked(["-p", "-m", model, *arguments], cwd=folder, env=environment(server), stdin=stdin)
    assert KEY not in done.stdout + done.stderr
    return done, server


@contextmanager
def running(folder: Path, script: list[Item], *arguments: str) -> Generator[subprocess.Popen[str]]:
    with (
        ModelServer(script) as server,
        subprocess.Popen(
            command(*arguments),
            cwd=folder,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def said_to(server: ModelServer, request: int = 0) -> str:
    return json.dumps(server.requests[request].body["messages"][-1], ensure_ascii=False)


@pytest.mark.parametrize("model", ["anthropic/fake-model", "openai-chat/fake-model"])
def test_the_answer_is_all_there_is_on_stdout(folder: Path, model: str) -> None:
    done, _ = ask(folder, [READ, Reply("It says alpha.")], "what is in a.txt?", model=model)

    assert (done.returncode, done.stdout, done.stderr) == (0, "It says alpha.\n", "")


def test_stdin_is_appended_to_the_prompt(folder: Path) -> None:
    done, server = ask(folder, [Reply("ok")], "explain this:", stdin="line one\nzwei\n")

    assert done.returncode == 0
    assert "explain this:\\n\\nline one\\nzwei" in said_to(server)


def test_stdin_alone_is_a_prompt(folder: Path) -> None:
    _, server = ask(folder, [Reply("ok")], stdin="only this")

    assert "only this" in said_to(server)


def test_stdin_that_is_no_utf8_still_arrives(folder: Path) -> None:
    with ModelServer([Reply("ok")]) as server:
        subprocess.run(
            command("x"), cwd=folder, env=environment(server), input=b"caf\xe9", check=True, capture_output=True
        )

    assert "caf\ufffd" in said_to(server)


def test_too_much_on_stdin_is_refused_before_anything_is_sent(folder: Path) -> None:
    done, server = ask(folder, [Reply("ok")], "x", stdin="y" * 10_000_001)

    assert done.returncode == 2
    assert "longer than 10 MB" in done.stderr
    assert server.requests == []


def test_json_is_one_object_with_the_answer_and_what_it_took(folder: Path) -> None:
    done, _ = ask(folder, [READ, Reply("It says alpha.")], "what is in a.txt?", "--output-format", "json")

    (reported,) = lines(done.stdout)
    assert done.returncode == 0
    assert reported["type"] == "result"
    assert (reported["subtype"], reported["is_error"], reported["result"]) == ("success", False, "It says alpha.")
    assert (reported["num_turns"], reported["stop_reason"], reported["permission_denials"]) == (2, "end_turn", [])
    assert 0 < reported["duration_api_ms"] <= reported["duration_ms"]
    assert reported["usage"]["input_tokens"] == 200
    assert reported["usage"]["output_tokens"] > 0
    assert reported["session_id"]


def test_stream_json_is_the_envelope_of_claude_codes_print_mode(folder: Path) -> None:
    done, _ = ask(folder, [READ, Reply("It says alpha.")], "what is in a.txt?", "--output-format", "stream-json")

    reported = lines(done.stdout)
    assert [line["type"] for line in reported] == ["system", "assistant", "assistant", "user", "assistant", "result"]
    init, said, called, answered, said_last, result = reported
    assert (init["subtype"], init["cwd"], init["model"]) == ("init", str(folder), "anthropic/fake-model")
    assert "read_file" in init["tools"]
    assert said["message"]["content"] == [{"type": "text", "text": "Let me look."}]
    call = called["message"]["content"][0]
    assert (call["type"], call["name"], call["input"]["path"]) == ("tool_use", "read_file", "a.txt")
    output = answered["message"]["content"][0]
    assert (output["type"], output["tool_use_id"]) == ("tool_result", call["id"])
    assert "alpha" in json.dumps(output["content"])
    assert said_last["message"]["stop_reason"] == "end_turn"
    assert result["result"] == "It says alpha."
    assert {line["session_id"] for line in reported} == {init["session_id"]}
    assert len({line["uuid"] for line in reported}) == len(reported)
    assert all(line["parent_tool_use_id"] is None for line in reported if line["type"] in ("assistant", "user"))


def test_stream_json_reports_which_call_a_subagent_works_for(folder: Path) -> None:
    delegate = Reply(calls=[("delegate_subagent", {"task": "Read a.txt."})])

    done, _ = ask(folder, [delegate, READ, Reply("alpha"), Reply("ok")], "go", "--output-format", "stream-json")

    reported = [line for line in lines(done.stdout) if line["type"] in ("assistant", "user")]
    call = reported[0]["message"]["content"][0]["id"]
    assert [line["parent_tool_use_id"] for line in reported] == [None, *[call] * 4, None, None]
    assert {line["session_id"] for line in reported} == {reported[0]["session_id"]}
    assert reported[5]["message"]["content"][0]["tool_use_id"] == call


def test_denied_request_of_a_subagent_is_status_4(folder: Path) -> None:
    delegate = Reply(calls=[("delegate_subagent", {"task": "Write new.txt."})])

    done, _ = ask(folder, [delegate, WRITE, Reply("I may not."), Reply("It may not.")], "go")

    assert done.returncode == 4
    assert not (folder / "new.txt").exists()


def test_events_are_json_lines(folder: Path) -> None:
    done, _ = ask(folder, [Reply("Hello there.")], "hi", "--output-format", "events")

    reported = lines(done.stdout)
    assert (reported[0]["type"], reported[-1]["type"]) == ("agent_start", "agent_end")
    assert [line["seq"] for line in reported] == list(range(1, len(reported) + 1))
    assert "message_update" in {line["type"] for line in reported}


def test_calls_that_need_approval_are_denied_reported_and_status_4(folder: Path) -> None:
    done, server = ask(folder, [WRITE, Reply("I could not.")], "write", "--output-format", "json")

    (reported,) = lines(done.stdout)
    assert done.returncode == 4
    assert (reported["subtype"], reported["is_error"]) == ("success", False)
    assert [denial["tool_name"] for denial in reported["permission_denials"]] == ["write_file"]
    assert "--allow TOOL" in done.stderr
    assert not (folder / "new.txt").exists()
    assert "needs the user's approval" in said_to(server, 1)


@pytest.mark.parametrize("grant", [("--approve", "off"), ("--allow", "write_file")])
def test_a_grant_lets_it_run(folder: Path, grant: tuple[str, str]) -> None:
    done, _ = ask(folder, [WRITE, Reply("Done.")], "write", *grant)

    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert (folder / "new.txt").read_text() == "hello\n"


def test_a_failed_run_is_status_1_with_its_reason(folder: Path) -> None:
    done, _ = ask(folder, [Failure(401)], "hi")

    assert done.returncode == 1
    assert done.stdout == ""
    assert "ANTHROPIC_API_KEY" in done.stderr


def test_half_an_answer_is_no_answer(folder: Path) -> None:
    done, _ = ask(folder, [Cut(Reply("The answer is forty-two."), after_events=6)], "what is it?")

    assert done.returncode == 1
    assert done.stdout == ""


def test_a_truncated_answer_is_reported(folder: Path) -> None:
    done, _ = ask(folder, [Reply("The answer is", stop="length")], "what is it?")

    assert done.stdout == "The answer is\n"
    assert "truncated" in done.stderr


def test_a_failed_run_is_reported_in_json_too(folder: Path) -> None:
    done, _ = ask(folder, [Failure(400, "no such thing")], "hi", "--output-format", "stream-json")

    result = lines(done.stdout)[-1]
    assert done.returncode == 1
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
    assert "no such thing" in result["errors"][0]


def test_a_limit_is_status_3(folder: Path) -> None:
    done, server = ask(folder, [READ, READ, READ], "go", "--max-turns", "2", "--output-format", "json")

    (reported,) = lines(done.stdout)
    assert done.returncode == 3
    assert (reported["subtype"], reported["is_error"], reported["num_turns"]) == ("error_max_turns", True, 2)
    assert len(server.requests) == 2
    assert "continue with: cinch --resume" in done.stderr


def test_plan_mode_answers_with_the_plan(folder: Path) -> None:
    plan = Reply(calls=[("submit_plan", {"plan": "1. Read.\n2. Write."})])

    done, server = ask(folder, [plan, Reply("never asked for")], "plan it", "--plan")

    assert (done.stdout, done.returncode, len(server.requests)) == ("1. Read.\n2. Write.\n", 0, 1)


def test_plan_mode_without_a_plan_ends_at_its_limit_with_a_message(folder: Path) -> None:
    done, server = ask(folder, [READ] * 30, "plan it", "--plan")

    assert (done.returncode, len(server.requests)) == (3, 20)
    assert "planning used its 20 turns, and no plan was accepted" in done.stderr


def test_requested_plan_mode_is_kept_over_the_mode_of_a_resumed_session(folder: Path, own_home: Path) -> None:
    ask(folder, [Reply("Noted.")], "hello")
    (session,) = (own_home / "cinch").rglob("*.jsonl")
    left = ModeNote(session_id=session.stem, timestamp=iso(0.0), mode="execute")
    session.write_bytes(session.read_bytes() + to_bytes(left))

    done, _ = ask(folder, [Reply("Planned.")], "-c", "plan it", "--plan", "--output-format", "stream-json")

    assert lines(done.stdout)[0]["permissionMode"] == "plan"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("bsh", "bsh has no effect: there is no tool named bsh"),
        ("bash:", "'bash:' is not a permission rule; write tool or tool(pattern); the rule has no effect"),
        ("write_file:src", "write_file(src:*) has no effect: only bash commands have a prefix"),
    ],
)
def test_an_empty_allowance_is_reported_as_none(folder: Path, entry: str, reason: str) -> None:
    done, _ = ask(folder, [Reply("Hello.")], "hi", "--allow", entry)

    assert f"the command line: {reason}" in done.stderr


def test_verbose_reports_each_step_on_stderr(folder: Path) -> None:
    missing = Reply(calls=[("read_file", {"path": "no-such.txt"})])

    done, _ = ask(folder, [READ, missing, Reply("Done.")], "look", "--verbose")

    assert done.stdout == "Done.\n"
    assert "cinch: read_file a.txt\n" in done.stderr
    assert "cinch: read_file failed:" in done.stderr


def test_a_session_continues_in_print_mode(folder: Path) -> None:
    ask(folder, [Reply("Noted.")], "my number is 7")

    done, server = ask(folder, [Reply("7")], "-c", "which number?")

    assert done.stdout == "7\n"
    assert "my number is 7" in json.dumps(server.requests[0].body["messages"])


def test_no_session_leaves_nothing_on_disk(folder: Path, own_home: Path) -> None:
    ask(folder, [Reply("Hello.")], "hi", "--no-session")

    assert list((own_home / "cinch").rglob("*.jsonl")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_cleanly_and_keeps_the_session(folder: Path, own_home: Path, number: int) -> None:
    with running(
        folder, [Hang(Reply("Thinking about it"), after_events=4)], "long", "--output-format", "events"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if json.loads(line)["type"] == "message_update":
                break
        process.send_signal(number)
        rest, reported = process.communicate(timeout=30)

    assert process.returncode == 130
    assert json.loads(rest.splitlines()[-1])["stop_reason"] == "aborted"
    assert "Traceback" not in reported
    assert "interrupted" in reported
    (session,) = (own_home / "cinch").rglob("*.jsonl")
    assert "long" in session.read_text()


def test_a_reader_that_goes_away_ends_the_run_quietly(folder: Path) -> None:
    with running(folder, [Hang(Reply("word " * 500, pause_s=0.01))], "talk", "--output-format", "events") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        reported = process.stderr.read()
        process.wait(timeout=30)

    assert process.returncode == 130
    assert "Traceback" not in reported
    assert "Broken pipe" not in reported


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written_is_a_failure(folder: Path) -> None:
    with ModelServer([Reply("Hello.")]) as server, Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("hi"),
            cwd=folder,
            env=environment(server),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr == "cinch: cannot write the answer: No space left on device\n"


def test_closed_standard_streams_are_no_obstacle(folder: Path) -> None:
    with ModelServer([WRITE, Reply("Done.")]) as server:
        line = " ".join(command("write", "--approve", "off")) + " <&- >&- 2>&-"
        done = subprocess.run(["sh", "-c", line], cwd=folder, env=environment(server), check=False)

    assert done.returncode == 0
    assert (folder / "new.txt").exists()


@pytest.mark.parametrize(("wakes", "answer"), [("true", "It is built.\n"), ("false", "It builds.\n")])
def test_run_waits_for_background_jobs_if_their_end_starts_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, wakes: str, answer: str
) -> None:
    monkeypatch.setenv("CINCH_TOOLS_BASH_WAKE_ON_EXIT", wakes)
    build = Reply(calls=[("bash", {"command": "sleep 0.5; echo built", "background": True})])

    done, server = ask(folder, [build, Reply("It builds."), Reply("It is built.")], "build it", "--approve", "off")

    assert done.stdout == answer
    assert ("Background job-1" in said_to(server, -1)) is (wakes == "true")
