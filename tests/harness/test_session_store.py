from __future__ import annotations

import json
import re
import subprocess
import threading
from pathlib import Path

import pytest
from fakes.talk import call, event_for, reply, result, rounded, tell, tour, written

from harness.deltas import BlockDelta
from harness.errors import SessionMissing
from harness.events import (
    AgentEnd,
    AgentStart,
    Event,
    HookRan,
    MessageUpdate,
    ModeChanged,
    ModelChanged,
    RequestStart,
    TurnEnd,
)
from harness.messages import (
    AssistantMessage,
    Cost,
    Image,
    ModelSpec,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    new_id,
    user,
)
from harness.session.paths import git_branch, project_name, session_path
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session
from harness.views import DiffView


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def talk_of(path: Path) -> list[dict[str, object]]:
    return [line for line in lines_of(path) if line["type"] in ("user", "assistant")]


@pytest.fixture
def store(tmp_path: Path):
    made = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    yield made
    made.close()


def test_nothing_is_created_before_the_first_message(store: SessionRecorder, tmp_path: Path):
    store.store(AgentStart())
    store.store(ModelChanged(spec=ModelSpec("demo", "m")))
    store.store(ModeChanged(mode="plan"))
    store.rename("early title")
    store.close()

    assert not (tmp_path / "data").exists()


def test_metadata_before_the_first_message_is_written_with_it(store: SessionRecorder):
    store.store(ModelChanged(spec=ModelSpec("demo", "m")))
    store.store(ModeChanged(mode="plan"))
    store.rename("early title")

    tell(store, user("hello"))

    session = load_session(store.path)
    assert (session.model_name, session.mode, session.title) == ("demo/m", "plan", "early title")


def test_message_is_on_disk_when_store_returns(store: SessionRecorder):
    tell(store, user("hello"))

    assert [line["message"] for line in talk_of(store.path)] == [{"role": "user", "content": "hello"}]


def test_result_of_a_call_blocked_by_a_hook_is_on_disk(store: SessionRecorder):
    tell(store, user("go"), reply(call("a", path="x"), call("b", path="y")), result("b", "second"))

    blocked = result("a", "not this file")
    store.store(HookRan(point="before_tool", outcome="blocked", call_id="a", result=blocked))
    store.store(HookRan(point="before_tool", outcome="modified", call_id="b"))

    assert rounded([blocked]) == [each for each in load_session(store.path).messages if each.id == blocked.id]
    assert len(talk_of(store.path)) == 5


def test_every_line_has_the_fields_readers_need(tmp_path: Path):
    path = written(tmp_path, *tour())

    needed = {"parentUuid", "isSidechain", "uuid", "timestamp", "userType", "cwd", "sessionId", "version", "gitBranch"}
    for line in talk_of(path):
        assert needed <= line.keys()
        assert line["isSidechain"] is False
        assert line["sessionId"] == path.stem
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(line["timestamp"]))


def test_lines_are_compact_json(tmp_path: Path):
    path = written(tmp_path, *tour())

    for raw in path.read_text(encoding="utf-8").splitlines():
        assert raw == json.dumps(json.loads(raw), separators=(",", ":"), ensure_ascii=False)


def test_reply_is_one_line_per_block_with_shared_ids_and_usage(tmp_path: Path):
    said = AssistantMessage(
        (Thinking("hm", "sig"), Text("so"), call("a")), "claude-x", "anthropic", Usage(5, 6, 7, 8), "tool_use"
    )

    path = written(tmp_path, user("go"), said)

    lines = [line for line in talk_of(path) if line["type"] == "assistant"]
    messages = [line["message"] for line in lines]
    assert [message["content"][0]["type"] for message in messages] == ["thinking", "text", "tool_use"]
    assert all(len(message["content"]) == 1 for message in messages)
    assert len({message["id"] for message in messages}) == 1
    assert len({line["requestId"] for line in lines}) == 1
    assert all(
        message["usage"]
        == {
            "input_tokens": 5,
            "output_tokens": 6,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 8,
        }
        for message in messages
    )


def test_lines_are_chained_and_results_follow_their_own_call(tmp_path: Path):
    opening, looking, first, second, end = tour()

    path = written(tmp_path, opening, looking, second, first, end)

    parents = {line["uuid"]: line["parentUuid"] for line in talk_of(path)}
    text, call_a, call_b = [line["uuid"] for line in talk_of(path)][1:4]
    assert parents[opening.id] is None
    assert (parents[text], parents[call_a], parents[call_b]) == (opening.id, text, call_a)
    assert (parents[first.id], parents[second.id]) == (call_a, call_b)
    assert parents[end.id] == first.id


def test_result_keeps_cinch_specific_fields(tmp_path: Path):
    view = DiffView("a.py", "old", "new")
    answer = ToolResult("a", "edit_file", (Text("done"),), details={"edits": 2}, view=view)

    path = written(tmp_path, user("go"), reply(call("a", "edit_file")), answer)

    line = talk_of(path)[-1]
    assert line["message"]["content"] == [{"tool_use_id": "a", "type": "tool_result", "content": "done"}]
    assert line["toolUseResult"]["cinch"]["details"] == {"edits": 2}
    assert load_session(path).messages[-1].view == view


def test_every_message_is_restored(tmp_path: Path):
    usage = Usage(1, 2, 3, 4, Cost(0.1, 0.2, 0.3, 0.4))
    said = [
        UserMessage((Text("see"), Image("image/png", "AAAA"))),
        AssistantMessage(
            (Thinking("", redacted="xyz"), Text("é\n\x00\u2028"), ToolCall("c", "bash", {}, '{"comm')),
            "m",
            "anthropic",
            usage,
            "tool_use",
            response_id="msg_1",
        ),
        ToolResult("c", "bash", (Text("no JSON"), Image("image/png", "BBBB")), is_error=True),
        UserMessage((Text("reminder"),), synthetic=True),
        AssistantMessage((Text("par"),), "m", "anthropic", stop_reason="aborted", error="stopped by the user"),
        AssistantMessage((), "m", "anthropic", stop_reason="error", error="overloaded"),
        ToolResult("none", "x", ()),
    ]

    session = load_session(written(tmp_path, *said))

    assert [without_time(message) for message in session.messages] == [without_time(message) for message in said]


def without_time(message: object) -> str:
    return re.sub(r"time=[\d.]+", "", repr(message))


def test_values_json_cannot_hold_are_replaced(tmp_path: Path):
    said = reply(ToolCall("a", "x", {"n": float("inf")}), "half \ud83d")

    session = load_session(written(tmp_path, user("go"), said))

    assert session.messages[1].content == (ToolCall("a", "x", {"n": None}), Text("half \ufffd"))


def test_model_is_recorded_when_it_changes(store: SessionRecorder):
    tell(store, user("go"))
    for spec in (ModelSpec("demo", "a"), ModelSpec("demo", "a"), ModelSpec("demo", "b")):
        store.store(RequestStart(spec=spec, message_count=1, tokens=1))

    assert len([line for line in lines_of(store.path) if line["type"] == "cinch-model"]) == 2
    assert load_session(store.path).model_name == "demo/b"


def test_session_continues_with_the_chosen_model_whichever_answered(store: SessionRecorder):
    store.choose(ModelSpec("demo", "a"))
    tell(store, user("go"))
    for name in ("a", "fallback"):
        store.store(RequestStart(spec=ModelSpec("demo", name), message_count=1, tokens=1))
    first = load_session(store.path).model_name
    store.store(ModelChanged(spec=ModelSpec("demo", "b")))
    store.store(RequestStart(spec=ModelSpec("demo", "fallback"), message_count=1, tokens=1))

    assert (first, load_session(store.path).model_name) == ("demo/a", "demo/b")


def test_file_records_where_each_run_starts_and_how_it_ends(store: SessionRecorder):
    store.store(AgentStart(run_id="L"))
    tell(store, user("go"))
    store.store(AgentEnd(run_id="L", stop_reason="aborted"))

    notes = [(line["phase"], line["loopId"]) for line in lines_of(store.path) if line["type"] == "cinch-run"]
    assert notes == [("start", "L"), ("end", "L")]


def test_streamed_token_writes_nothing(store: SessionRecorder, tmp_path: Path):
    store.store(MessageUpdate(message_id="m", delta=BlockDelta(0, "x")))

    assert not (tmp_path / "data").exists()


def test_the_title_stays_near_the_end_of_a_long_file(store: SessionRecorder):
    tell(store, user("go"))
    store.rename("the title")
    for _ in range(4):
        tell(store, user("x" * 40_000))
        store.store(TurnEnd(message=reply("x")))

    assert b'"customTitle":"the title"' in store.path.read_bytes()[-64 * 1024 :]


def test_resumed_session_appends_to_its_file(tmp_path: Path):
    path = written(tmp_path, *tour())
    before = load_session(path)

    store = SessionRecorder(tmp_path / "data", tmp_path, before.session_id, resumed=before)
    tell(store, user("and now?"), reply("done"))
    store.close()

    after = load_session(path)
    assert len(after.messages) == len(before.messages) + 2
    assert after.messages[-1].text == "done"
    assert len([line for line in lines_of(path) if line["type"] == "cinch-session"]) == 1


def test_opening_a_session_without_a_message_leaves_its_file_unchanged(tmp_path: Path):
    path = written(tmp_path, *tour())
    before = path.read_bytes()

    store = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    store.acquire()
    store.store(AgentStart())
    store.store(ModelChanged(spec=ModelSpec("demo", "other")))
    store.close()

    assert path.read_bytes() == before


def test_after_a_restart_only_the_new_conversation_is_loaded(store: SessionRecorder):
    tell(store, *tour())
    store.restart()
    tell(store, user("afresh"), reply("yes"))

    assert [message.text for message in load_session(store.path).messages] == ["afresh", "yes"]


def test_only_the_owner_can_read_a_session(tmp_path: Path):
    path = written(tmp_path, *tour())

    assert path.stat().st_mode & 0o777 == 0o600
    assert {folder.stat().st_mode & 0o777 for folder in (path.parent, tmp_path / "data")} == {0o700}


def test_closing_leaves_only_session_files(tmp_path: Path):
    path = written(tmp_path, *tour())

    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert not [thread for thread in threading.enumerate() if "session-sync" in thread.name]


def test_no_secret_from_the_environment_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-123")

    path = written(tmp_path, *tour())

    assert b"sk-canary" not in path.read_bytes()


def test_no_password_in_a_url_is_written(store: SessionRecorder):
    store.store(ModelChanged(spec=ModelSpec("openai-chat", "m", base_url="http://me:sk-canary@host/v1?key=sk-canary")))
    tell(store, user("go"))

    assert b"sk-canary" not in store.path.read_bytes()
    assert load_session(store.path).spec == ModelSpec("openai-chat", "m", base_url="http://host/v1")


@pytest.mark.parametrize("bad", ["../x", "a/b", "", "a\x00b", "a\nb", "..", ".x", "a b"])
def test_id_with_path_components_cannot_be_created(tmp_path: Path, bad: str):
    with pytest.raises(SessionMissing):
        session_path(tmp_path, tmp_path, bad)


def test_project_folder_is_named_as_by_claude_code(tmp_path: Path):
    folder = tmp_path / "a_b.c é"
    folder.mkdir()

    assert project_name(folder) == re.sub("[^A-Za-z0-9]", "-", str(folder))


def test_long_folder_name_is_truncated_and_hashed():
    name = project_name(Path("/" + "a" * 250))

    assert re.fullmatch(r"-a{199}-[0-9a-z]+", name)
    assert name != project_name(Path("/" + "a" * 251))


def test_git_branch_is_recorded(tmp_path: Path):
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True)

    (tmp_path / "sub").mkdir()
    assert git_branch(tmp_path / "sub") == ""

    git("init", "-b", "work/one")

    assert git_branch(tmp_path / "sub") == "work/one"
    git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "--allow-empty", "-m", "x")
    git("worktree", "add", "-b", "other", str(tmp_path / "tree"))
    assert git_branch(tmp_path / "tree") == "other"
    git("checkout", "--detach")
    assert git_branch(tmp_path) == "HEAD"


def test_event_for_each_message_kind_is_stored(store: SessionRecorder):
    events: list[Event] = [event_for(message) for message in (user("a"), reply(call("c")), result("c"))]

    for event in events:
        store.store(event)

    assert [line["type"] for line in talk_of(store.path)] == ["user", "assistant", "user"]
