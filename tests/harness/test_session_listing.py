from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fakes.talk import call, reply, result, tell, tour, written

from harness.errors import SessionError, SessionMissing
from harness.events import AgentStart
from harness.messages import AssistantMessage, Text, UserMessage, new_id, user
from harness.session.doctor import examine, repair
from harness.session.fork import fork_session
from harness.session.index import find_session, list_sessions
from harness.session.journal import Journal, lock_path
from harness.session.labels import tag_session
from harness.session.paths import project_dir, subagent_path
from harness.session.recorder import SessionRecorder
from harness.session.references import message_at
from harness.session.resume import load_session
from harness.session.search import SearchQuery, search_sessions
from harness.session.summary import summarize


def at(moment: float, text: str = "go") -> UserMessage:
    return UserMessage((Text(text),), time=1_700_000_000 + moment)


def test_sessions_are_listed_newest_first(tmp_path: Path):
    newer = written(tmp_path, at(2, "newer\n  one"))
    older = written(tmp_path, at(1, "older"))

    found = list_sessions(tmp_path / "data", tmp_path)

    assert [(each.path, each.title) for each in found] == [(newer, "newer one"), (older, "older")]


def test_listing_is_limited_to_the_folder_by_default(tmp_path: Path):
    written(tmp_path, user("here"))
    (tmp_path / "other").mkdir()
    store = SessionRecorder(tmp_path / "data", tmp_path / "other", new_id())
    tell(store, user("there"))
    store.close()

    assert [each.title for each in list_sessions(tmp_path / "data", tmp_path)] == ["here"]
    assert {each.title for each in list_sessions(tmp_path / "data", None)} == {"here", "there"}
    assert list_sessions(tmp_path / "data", tmp_path / "nowhere") == []
    assert list_sessions(tmp_path / "nothing", None) == []


def test_listed_branch_is_the_latest(tmp_path: Path):
    path = written(tmp_path, user("one"), reply("two"))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[1]["gitBranch"], records[2]["gitBranch"] = "main", "feature"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))

    assert summarize(path).branch == "feature"
    with path.open("a") as file:
        file.write(json.dumps({**records[2], "uuid": "9", "padding": "x" * 200_000, "gitBranch": "unseen"}) + "\n")
    assert summarize(path).branch == "main"


def test_listing_reads_only_the_ends_of_a_long_file(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("the first prompt"), *[reply("x" * 50_000) for _ in range(20)])
    store.rename("the title")
    store.close()
    inside = bytearray(store.path.read_bytes())
    inside[70_000 : len(inside) - 70_000] = b"?" * (len(inside) - 140_000)
    store.path.write_bytes(inside)

    summary = summarize(store.path)

    assert summary is not None
    assert (summary.title, summary.first_prompt, summary.cwd) == ("the title", "the first prompt", str(tmp_path))


def test_very_long_first_prompt_still_titles_the_session(tmp_path: Path):
    plain = summarize(written(tmp_path, user('a "long" one é ' * 10_000)))
    blocks = summarize(written(tmp_path, UserMessage((Text("in blocks " * 10_000), Text("x")))))

    assert plain is not None
    assert plain.title.startswith('a "long" one é a "long"')
    assert blocks is not None
    assert blocks.title.startswith("in blocks in blocks")


def test_file_without_a_conversation_is_not_listed(tmp_path: Path):
    folder = project_dir(tmp_path / "data", tmp_path)
    folder.mkdir(parents=True)
    (folder / f"{new_id()}.jsonl").write_text('{"type":"cinch-session","format":1}\n', encoding="utf-8")
    (folder / f"{new_id()}.jsonl").write_bytes(b"")
    (folder / f"{new_id()}.jsonl").write_bytes(b"\x00\xff garbage")
    (folder / "notes.txt").write_text("x", encoding="utf-8")

    assert list_sessions(tmp_path / "data", tmp_path) == []


def test_session_in_use_is_marked(tmp_path: Path):
    path = written(tmp_path, *tour())
    journal = Journal(path, print)

    journal.acquire()
    in_use = list_sessions(tmp_path / "data", tmp_path)[0].locked
    journal.close()

    assert in_use
    assert not list_sessions(tmp_path / "data", tmp_path)[0].locked


def test_session_is_found_by_id_prefix_or_as_the_latest(tmp_path: Path):
    one = written(tmp_path, at(1), session_id="aaaa1111-0000-4000-8000-000000000000")
    two = written(tmp_path, at(2), session_id="aaaa2222-0000-4000-8000-000000000000")

    assert find_session(tmp_path / "data", tmp_path, "AAAA1") == one
    assert find_session(tmp_path / "data", tmp_path, one.stem) == one
    assert find_session(tmp_path / "data", tmp_path, "latest") == two
    assert find_session(tmp_path / "data", tmp_path / "elsewhere", "aaaa2") == two


def test_session_with_the_newest_message_is_the_latest_whatever_is_renamed(tmp_path: Path):
    older = written(tmp_path, at(1, "older"))
    newer = written(tmp_path, at(2, "newer"), AssistantMessage((Text("x" * 200_000),), time=1_700_000_003))
    for path in (older, newer, older):
        store = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
        store.rename("a title")
        store.close()

    assert find_session(tmp_path / "data", tmp_path, "latest") == newer
    found = list_sessions(tmp_path / "data", tmp_path)
    assert [(each.path, each.updated) for each in found] == [(newer, 1_700_000_003), (older, 1_700_000_001)]
    assert load_session(older).updated == 1_700_000_001


def test_pipes_and_devices_are_not_sessions(tmp_path: Path):
    path = written(tmp_path, user("go"))
    pipe = path.with_name(f"{new_id()}.jsonl")
    os.mkfifo(pipe)
    path.with_name(f"{new_id()}.jsonl").symlink_to("/dev/zero")

    assert find_session(tmp_path / "data", tmp_path, "latest") == path
    assert [each.path for each in list_sessions(tmp_path / "data", None)] == [path]
    assert [hit.path for hit in search_sessions(tmp_path / "data", SearchQuery("go"))] == [path]
    assert summarize(pipe) is None
    with pytest.raises(SessionError, match="not a regular file"):
        load_session(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        Journal(pipe, print).acquire()


def test_missing_session_suggests_a_similar_id(tmp_path: Path):
    with pytest.raises(SessionMissing, match="no sessions have been saved"):
        find_session(tmp_path / "data", tmp_path, "abcd")
    with pytest.raises(SessionMissing, match="no sessions in"):
        find_session(tmp_path / "data", tmp_path, "latest")
    for number in (1, 2):
        written(tmp_path, user(f"prompt {number}"), session_id=f"aaaa{number}111-0000-4000-8000-000000000000")

    with pytest.raises(SessionMissing, match=r"did you mean aaaa2111.*prompt 2"):
        find_session(tmp_path / "data", tmp_path, "aaab2111")
    with pytest.raises(SessionMissing, match="session zzzz not found; run `cinch sessions list`"):
        find_session(tmp_path / "data", tmp_path, "zzzz")
    with pytest.raises(SessionMissing, match="several sessions start with aaaa"):
        find_session(tmp_path / "data", tmp_path, "aaaa")


@pytest.mark.parametrize("bad", ["../../etc/passwd", "a/b", "", "\x1b[31m", "a\n"])
def test_id_with_path_components_cannot_be_looked_up(tmp_path: Path, bad: str):
    with pytest.raises(SessionMissing, match="not a session id"):
        find_session(tmp_path / "data", tmp_path, bad)


def test_search_is_case_insensitive(tmp_path: Path):
    path = written(tmp_path, user("where is the Straße?"), reply("see", call("a")), result("a", "In  the\nMAP room"))

    for text in ("map room", "STRAßE", "SEE", "the\nmap"):
        assert [hit.path for hit in search_sessions(tmp_path / "data", SearchQuery(text, tmp_path))] == [path]
    (found,) = search_sessions(tmp_path / "data", SearchQuery("map"))
    assert (found.role, found.snippet) == ("tool", "In the MAP room")
    assert [hit.role for hit in search_sessions(tmp_path / "data", SearchQuery("see"))] == ["assistant"]
    assert search_sessions(tmp_path / "data", SearchQuery("tool_result")) == []
    assert search_sessions(tmp_path / "data", SearchQuery("")) == []


def test_search_stops_at_its_limit(tmp_path: Path):
    written(tmp_path, *[user(f"needle {number}") for number in range(9)])

    assert len(search_sessions(tmp_path / "data", SearchQuery("needle"), limit=4)) == 4


def test_fork_takes_the_conversations_of_subagents_along(tmp_path: Path):
    path = written(tmp_path, *tour())
    file = subagent_path(path, "one")
    file.parent.mkdir(parents=True)
    line = {"parentUuid": None, "isSidechain": True, "type": "user", "uuid": "a", "sessionId": path.stem}
    file.write_text(json.dumps(line) + "\n{torn\n")

    forked = fork_session(path, new_id())

    (copy,) = map(json.loads, subagent_path(forked, "one").read_text().splitlines())
    assert (copy["sessionId"], copy["forkedFrom"]["messageUuid"]) == (forked.stem, "a")


def test_fork_holds_the_same_conversation_under_new_ids(tmp_path: Path):
    path = written(tmp_path, *tour())
    before = path.read_bytes()

    forked = fork_session(path, new_id())

    mine, theirs = load_session(forked), load_session(path)
    assert [message.text for message in mine.messages] == [message.text for message in theirs.messages]
    assert not {message.id for message in mine.messages} & {message.id for message in theirs.messages}
    assert {json.loads(line)["sessionId"] for line in forked.read_bytes().splitlines()} == {forked.stem}
    assert path.read_bytes() == before
    assert forked.stat().st_mode & 0o777 == 0o600


def test_fork_keeps_title_and_mode_and_drops_other_branches(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    tell(store, user("given up"))
    store.restart()
    tell(store, user("kept"))
    store.rename("name")
    store.close()

    forked = load_session(fork_session(store.path, new_id()))

    assert forked.title == "name (fork)"
    assert b"given up" not in forked.path.read_bytes()
    assert summarize(forked.path) is not None


def test_fork_at_a_message_ends_with_the_results_of_its_calls(tmp_path: Path):
    path = written(tmp_path, *tour(), user("again"), reply("done"))
    whole = load_session(path)

    ends = [
        len(load_session(fork_session(path, new_id(), at=message_at(whole, str(number)))).messages)
        for number in range(1, 6)
    ]

    assert ends == [1, 4, 5, 6, 7]
    with pytest.raises(SessionError, match="has no message 6"):
        message_at(whole, "6")


def test_forks_of_a_fork_are_numbered_and_keep_tags(tmp_path: Path):
    path = written(tmp_path, *tour())
    tag_session(path, add=["bug"])

    first = load_session(fork_session(path, new_id()))
    second = load_session(fork_session(first.path, new_id()))

    assert (first.title, second.title) == ("look at both (fork)", "look at both (fork 2)")
    assert second.tags == ("bug",)
    assert [line.get("type") for line in second.labels] == ["ai-title", "tag"]


def test_fork_never_overwrites(tmp_path: Path):
    path = written(tmp_path, *tour())

    with pytest.raises(SessionError, match="cannot be written"):
        fork_session(path, path.stem)


def test_file_without_a_conversation_is_not_forked(tmp_path: Path):
    source = tmp_path / "notes.txt"
    source.write_text("just text\n", encoding="utf-8")

    with pytest.raises(SessionError, match="contains no conversation"):
        fork_session(source, new_id(), tmp_path / "into")

    assert not (tmp_path / "into").exists()


def test_session_in_use_can_be_forked(tmp_path: Path):
    path = written(tmp_path, *tour())
    journal = Journal(path, print)
    journal.acquire()

    forked = load_session(fork_session(path, new_id()))
    store = SessionRecorder(tmp_path / "data", tmp_path, forked.session_id, resumed=forked)
    store.acquire()

    assert len(forked.messages) == 5
    store.close()
    journal.close()


def test_imported_file_is_complete_without_foreign_metadata(tmp_path: Path):
    source = tmp_path / "claude.jsonl"
    lines = [
        {"type": "user", "uuid": "u", "parentUuid": None, "message": {"content": "one"}},
        {"type": "system", "uuid": "s", "parentUuid": "u", "subtype": "informational"},
        {"type": "assistant", "uuid": "a", "parentUuid": "s", "message": {"id": "m", "content": "two"}},
    ]
    source.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    made = fork_session(source, new_id(), tmp_path / "into")

    assert [message.text for message in load_session(made).messages] == ["one", "two"]


def test_valid_session_has_no_findings(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id())
    store.store(AgentStart())
    tell(store, *tour())
    store.close()

    found = examine(store.path)

    assert found.healthy
    assert (found.messages, found.strange) == (5, {})


def test_findings_are_counted_and_repaired_where_appending_can(tmp_path: Path):
    path = written(tmp_path, user("go"), reply(call("x")), user("never mind"), reply(call("a"), call("b")), result("b"))
    with path.open("ab") as file:
        file.write(b'no json\n{"type":"mode","mode":"t"}\n{"type":"user","uu')

    found = examine(path)
    done = repair(found)

    assert (len(found.garbage), found.torn, found.strange) == (1, True, {"mode": 1})
    assert [each.call_id for each in found.unanswered] == ["x", "a"]
    assert done == ["completed the torn last line", "added the missing results of tool calls: 2"]
    assert not lock_path(path).exists()
    after = examine(path)
    assert (after.unanswered, after.torn, after.messages) == ((), False, 7)
    assert repair(after) == []


def test_session_in_use_is_not_repaired(tmp_path: Path):
    path = written(tmp_path, user("go"), reply(call("a")))
    journal = Journal(path, print)
    journal.acquire()

    with pytest.raises(SessionError, match="open in another"):
        repair(examine(path))

    journal.close()
