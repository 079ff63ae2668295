"""Sessions killed with SIGKILL at random moments, resumed and checked.

A scripted model runs in this process, print mode in another one. Every effect of a tool appends a token of its own to a
log, so that a repeated effect is seen; files change from one known content to another.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fakes.model_server import ModelServer
from fakes.script import Item, Reply
from msgspec import Struct

from harness.codec import decode
from harness.context.normalize import DID_NOT_RUN, MAY_HAVE_RUN
from harness.events import Event, MessageEnd, ToolExecutionEnd
from harness.messages import AssistantMessage, JsonObject, Message, ToolResult
from harness.publishing import innermost
from harness.session.doctor import examine
from harness.session.resume import load_session

ROOT = Path(__file__).resolve().parents[2]
SUBTASK = "Subtask"
CONTINUE = "Continue after the crash."
FILLER = "One line of a file that an edit keeps.\n" * 300
MOMENTS = {
    "message_update": 300,
    "tool_execution_start": 15,
    "tool_execution_end": 15,
    "message_end": 20,
    "request_start": 8,
    "subagent_event": 60,
}
"""Types of the last event before a kill, each with the highest number of such events before it."""
TIMEOUT_S = 60


READ_BY_CLAUDE = """
import json, sys
from claude_agent_sdk import get_session_messages
contents = [message.message["content"] for message in get_session_messages(sys.argv[1], sys.argv[2])]
blocks = [block for content in contents if isinstance(content, list) for block in content]
calls = sorted(block["id"] for block in blocks if block["type"] == "tool_use")
print(json.dumps([calls, sorted(block["tool_use_id"] for block in blocks if block["type"] == "tool_result")]))
"""
"""Prints the calls and the answered calls that Claude Code's reader finds."""


class Broken(AssertionError):
    """A session lost something, or repeated an effect."""


class ScriptedModel:
    """Model that makes calls of all kinds, each with a token of its own."""

    def __init__(self, seed: int, folder: Path) -> None:
        self._chance = random.Random(seed)
        self._log = folder / "effects.log"
        self._tokens = 0
        self._state = 0
        self.written: dict[str, str] = {}
        """Contents of the new files by name."""
        self.calls: dict[str, str] = {}
        """Token of each command, by its text."""
        self.last_request: dict[str, Any] = {}

    def __call__(self, body: dict[str, Any]) -> Item:
        messages = body.get("messages")
        if not messages:  # the process was killed before it had sent the request
            return Reply()
        if SUBTASK in json.dumps(messages[0]):
            return Reply("The subtask is done.") if len(messages) > 2 else Reply(calls=[self._command()])
        if CONTINUE in json.dumps(messages[-1]):
            self.last_request = body
            return Reply("I continue.", calls=[("read_file", {"path": "state.txt"}), self._command()])
        if len(messages) == 1:
            return Reply("I look first.", calls=[("read_file", {"path": "state.txt"})])
        return self._chance.choice(
            (self._text, self._parallel, self._parallel, self._change, self._change, self._delegate, self._background)
        )()

    @property
    def states(self) -> set[str]:
        """Contents that the edited file may have."""
        return {state_text(number) for number in range(self._state + 1)}

    def effects(self) -> Counter[str]:
        return Counter(self._log.read_text().split()) if self._log.exists() else Counter()

    def _token(self) -> str:
        self._tokens += 1
        return f"token-{self._tokens}"

    def _command(self, before: str = "", **more: object) -> tuple[str, JsonObject]:
        token = self._token()
        command = f"{before}echo {token} >> {self._log}"
        self.calls[command] = token
        return "bash", {"command": command, **more}  # type: ignore[dict-item]

    def _text(self) -> Item:
        length = self._chance.choice((1, 40, 300))
        return Reply("A long answer. " * length, calls=[self._command()], pause_s=0.0005)

    def _parallel(self) -> Item:
        calls = [self._command("sleep 0.02; " if self._chance.random() < 0.5 else "") for _ in range(3)]
        return Reply("Three at once.", calls=[*calls, ("read_file", {"path": "state.txt"})])

    def _change(self) -> Item:
        name = f"new-{self._token()}.txt"
        self.written[name] = f"{name}\n{FILLER}"
        before, self._state = self._state, self._state + 1
        edit: JsonObject = {
            "path": "state.txt",
            "old_string": f"state: {before}\n",
            "new_string": f"state: {self._state}\n",
        }
        return Reply(
            "I change two files.",
            calls=[("write_file", {"path": name, "content": self.written[name]}), ("edit_file", edit)],
        )

    def _delegate(self) -> Item:
        calls = [("delegate_subagent", {"task": f"{SUBTASK} {number}"}) for number in range(2)]
        return Reply("Two subtasks.", calls=calls)

    def _background(self) -> Item:
        return Reply("In the background.", calls=[self._command("sleep 0.05; ", background=True), self._command()])


def state_text(number: int) -> str:
    return f"{FILLER}state: {number}\n{FILLER}"


class Killed(Struct):
    """One killed session."""

    seed: int
    session: Path = Path()
    """The session file."""
    kills: int = 0
    """Number of kills."""
    events: int = 0
    """Events that were printed before the kills."""
    torn: int = 0
    """Incomplete last lines."""
    may_have_run: int = 0
    """Calls that had begun and had no result."""
    did_not_run: int = 0
    """Calls that had not begun."""
    stray_files: int = 0
    """Temporary files that an interrupted change left in the project."""


def kill_one(seed: int, folder: Path) -> Killed:
    """Run a session, kill it once or twice at a random moment, resume it and check it.

    Raises:
        Broken: Something was lost or repeated.
    """
    chance, model = random.Random(seed), ScriptedModel(seed, folder)
    project = folder / "project"
    project.mkdir()
    (project / "state.txt").write_text(state_text(0))
    killed, expected, printed = Killed(seed), dict[str, str](), list[Event]()
    prompts = [("Change what has to be changed.",), *[("-c", CONTINUE)] * chance.choice((0, 0, 1))]
    with ModelServer(model) as server:
        for arguments in prompts:
            printed += _run_until_killed(server, folder, chance, *arguments)
            expected |= _check_before(killed, folder, printed, model)
        model.last_request.clear()
        done = subprocess.run(
            _command("-c", CONTINUE, "--max-turns", "2"),
            cwd=project,
            env=_environment(server, folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    _require(CONTINUE in json.dumps(model.last_request.get("messages")), f"not resumed: {done.stderr}")
    _check_after(killed, printed, model, expected)
    _check_files(killed, project, model)
    return killed


def _command(*arguments: str) -> list[str]:
    command = [sys.executable, "-m", "cinch_tui", "-p", "-m", "anthropic/fake-model", "--approve", "off"]
    return [*command, "--output-format", "events", *arguments]


def _environment(server: ModelServer, folder: Path) -> dict[str, str]:
    home = {"CINCH_HOME": str(folder / "home"), "CINCH_KEYRING": "off", "PYTHONPATH": str(ROOT)}
    return {**os.environ, **home, "ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": server.url}


def _run_until_killed(server: ModelServer, folder: Path, chance: random.Random, *arguments: str) -> list[Event]:
    """Return the events that were printed completely."""
    kind, pause = chance.choice((*MOMENTS, "tool_execution_start")), chance.choice((0.0, chance.random() * 0.03))
    wanted = chance.randint(1, MOMENTS[kind])
    lines: list[bytes] = []
    with (
        (folder / "errors.log").open("w") as errors,
        subprocess.Popen(
            _command(*arguments, "--max-turns", "40"),
            cwd=folder / "project",
            env=_environment(server, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout
        while wanted and (line := process.stdout.readline()):
            lines.append(line)
            wanted -= f'"type":"{kind}"'.encode() in line[:200]
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        whole = [line for line in (*lines, *process.stdout) if line.endswith(b"\n")]
    if not whole:
        raise Broken(f"nothing was printed: {(folder / 'errors.log').read_text()}")
    return [decode(Event, json.loads(line)) for line in whole]  # type: ignore[arg-type]  # a union


def _check_before(killed: Killed, folder: Path, printed: list[Event], model: ScriptedModel) -> dict[str, str]:
    """Check the file as a kill left it; return the texts that the open calls must get."""
    (killed.session,) = folder.glob("home/**/projects/*/*.jsonl")
    records = list(_records(killed.session))
    killed.kills += 1
    killed.events = len(printed)
    killed.torn += not killed.session.read_bytes().endswith(b"\n")
    began = {record["callId"] for record in records if record["type"] == "cinch-call"}
    answered = set(_results(records))
    expected: dict[str, str] = {}
    effects = model.effects()
    for call_id, call in _calls(records).items():
        token = model.calls.get(call["input"].get("command", ""))
        if call_id not in answered:
            expected[call_id] = MAY_HAVE_RUN if call_id in began else DID_NOT_RUN
            _require(call_id in began or not effects[token or ""], f"{call} took effect before it began in the file")
    may_have_run = sum(text == MAY_HAVE_RUN for text in expected.values())
    killed.may_have_run += may_have_run
    killed.did_not_run += len(expected) - may_have_run
    _check_shown(killed.session, printed)
    return expected


def _check_shown(session: Path, printed: list[Event]) -> None:
    """Require every message that was shown as finished, of subagents too."""
    ids = {message.id for message in load_session(session).messages}
    for path in session.with_suffix("").glob("subagents/*.jsonl"):
        ids.update(record["uuid"] for record in _records(path) if "uuid" in record)
    for event in printed:
        shown = _finished(innermost(event))
        _require(shown is None or shown.id in ids, f"{shown} was shown and is not in the session")


def _finished(event: Event) -> Message | None:
    match event:
        case MessageEnd(message=message):
            return message
        case ToolExecutionEnd(result=result):
            return result
        case _:
            return None


def _check_after(killed: Killed, printed: list[Event], model: ScriptedModel, expected: dict[str, str]) -> None:
    """Check the resumed session: its file, and the request that the model received."""
    for path in (killed.session, *killed.session.with_suffix("").glob("subagents/*.jsonl")):
        found = examine(path)
        _require(found.healthy, f"{path} is damaged: {found}")
    records = list(_records(killed.session))
    results = Counter(record_id for record in records for record_id in _result_ids(record))
    calls = _calls(records)
    _require(set(results) == set(calls), f"calls {set(calls) ^ set(results)} have no result, or results no call")
    _require(max(results.values(), default=1) == 1, f"several results: {results.most_common(3)}")
    texts = _results(records)
    for call_id, text in expected.items():
        _require(texts[call_id] == text, f"{call_id} should be {text!r}, is {texts[call_id]!r}")
    _check_shown(killed.session, printed)
    _check_order(list(load_session(killed.session).messages))
    _check_with_claude(killed.session, set(calls))
    sent = json.dumps(model.last_request["messages"])
    _require(all(call_id in sent for call_id in expected), "an open call was not sent to the model")


def _check_with_claude(session: Path, calls: set[str]) -> None:
    """Require that Claude Code's own reader, if it is installed, finds all calls with their results."""
    if importlib.util.find_spec("claude_agent_sdk") is None:
        return
    data = session.parent.parent.parent
    command = [sys.executable, "-c", READ_BY_CLAUDE, session.stem, str(data.parent.parent / "project")]
    env = {**os.environ, "CLAUDE_CONFIG_DIR": str(data)}
    found, answered = json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    _require(set(found) == calls, f"Claude Code's reader finds the calls {found}, not {calls}")
    _require(found == answered, f"Claude Code's reader finds the calls {found} and results of {answered}")


def _check_order(messages: list[object]) -> None:
    """Require one result for each call, directly after its reply."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            _require(message.call_id in waiting, f"{message} answers no call before it")
            waiting.remove(message.call_id)
        else:
            _require(not waiting, f"{waiting} have no result before {message}")
            waiting = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    _require(not waiting, f"{waiting} have no result at the end")


def _check_files(killed: Killed, project: Path, model: ScriptedModel) -> None:
    repeated = {token: count for token, count in model.effects().items() if count > 1}
    _require(not repeated, f"repeated effects: {repeated}")
    _require((project / "state.txt").read_text() in model.states, "state.txt is half-written")
    for path in project.iterdir():
        if path.name in model.written:
            _require(path.read_text() == model.written[path.name], f"{path.name} is half-written")
        elif path.name != "state.txt":
            killed.stray_files += 1


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        yield record


def _blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content", "")
    return [block for block in content if isinstance(block, dict)]


def _calls(records: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {block["id"]: block for record in records for block in _blocks(record) if block["type"] == "tool_use"}


def _result_ids(record: dict[str, Any]) -> list[str]:
    return [block["tool_use_id"] for block in _blocks(record) if block["type"] == "tool_result"]


def _results(records: list[dict[str, Any]]) -> dict[str, str]:
    blocks = (block for record in records for block in _blocks(record) if block["type"] == "tool_result")
    return {block["tool_use_id"]: block["content"] if isinstance(block["content"], str) else "" for block in blocks}


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Broken(problem)
