from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from fakes.recording_host import RecordingHost
from fakes.talk import written

from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.registry import Choice
from cinch_tui.commands.session import SessionChoices
from cinch_tui.user_input import UserInput
from cinch_tui.widgets.prompt.completion import MAX_CANDIDATES, Candidate, CommandCompletion, Completion, best
from cinch_tui.widgets.prompt.history import MAX_ENTRIES, PromptHistory
from cinch_tui.widgets.prompt.path_completion import MentionCompletion, list_paths
from harness.errors import CinchError
from harness.messages import Text, UserMessage
from harness.permissions import Rule


@pytest.fixture
def commands() -> CommandCompletion:
    host = RecordingHost()
    host.agent.state.permissions.store.add(Rule("bash"))
    return CommandCompletion(builtin_commands, host)


def offered(completion: Completion | None) -> list[str]:
    return [candidate.text for candidate in completion.candidates] if completion else []


def test_bare_sigil_offers_every_command_of_its_kind_once(commands: CommandCompletion):
    slash = offered(commands.complete("/", one_line=True))
    hash_ = offered(commands.complete("#", one_line=True))

    assert slash[0] == "/plan"
    assert "/quit" in slash
    assert "/q" not in slash
    assert set(hash_) == {"#load", "#save", "#info", "#approve", "#keys", "#key", "#help", "#clear", "#copy"}


def test_exact_name_comes_first(commands: CommandCompletion):
    assert offered(commands.complete("/q", one_line=True)) == ["/q", "/quit"]
    assert offered(commands.complete("#key", one_line=True)) == ["#key", "#keys"]


def test_misspelt_command_is_found_by_its_letters(commands: CommandCompletion):
    assert offered(commands.complete("#aprv", one_line=True)) == ["#approve"]


def test_description_names_possible_arguments(commands: CommandCompletion):
    completion = commands.complete("/thi", one_line=True)

    assert completion is not None
    assert completion.candidates == (
        Candidate("/thinking", "[level|show|hide]  set the thinking level; show or hide thinking", then=" "),
    )


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("/thinking m", ["minimal", "medium"]),
        ("/model openai-chat/l", ["openai-chat/local"]),
        ("#approve untrust b", ["untrust bash"]),
        ("#key anthr", ["anthropic"]),
        ("#copy ", ["all", "code"]),
    ],
)
def test_arguments_are_offered(commands: CommandCompletion, before: str, texts: list[str]):
    assert offered(commands.complete(before, one_line=True)) == texts


@pytest.mark.parametrize("before", ["", "text", "a /plan", "/nothing ", "/plan x", "/zzz"])
def test_without_a_match_nothing_is_offered(commands: CommandCompletion, before: str):
    assert commands.complete(before, one_line=True) is None


def test_sessions_are_completed_by_words_of_their_titles(monkeypatch: pytest.MonkeyPatch):
    choices = (
        Choice("8f1c", "8f1c · 5 minutes ago", shown="Fix the flaky test"),
        Choice("77aa", "77aa · 2 days ago", shown="Test the new parser"),
    )
    monkeypatch.setattr(SessionChoices, "newest_first", lambda *_: choices)
    commands = CommandCompletion(builtin_commands, RecordingHost())

    assert offered(commands.complete("#load ", one_line=True)) == ["8f1c", "77aa"]
    assert offered(commands.complete("#load test", one_line=True)) == ["8f1c", "77aa"]
    assert offered(commands.complete("#load parser test", one_line=True)) == ["77aa"]
    assert offered(commands.complete("#load 8f", one_line=True)) == ["8f1c"]
    assert commands.complete("#load tset", one_line=True) is None
    completion = commands.complete("#load fix", one_line=True)
    assert completion is not None
    assert completion.candidates[0].label == "Fix the flaky test"
    assert completion.expects(completion.candidates[0])


@pytest.mark.parametrize(("typed", "is_submitted"), [("8f1", True), ("77", False), ("fix", False), ("", False)])
def test_enter_submits_the_start_of_an_id_that_identifies_one_session(
    monkeypatch: pytest.MonkeyPatch, typed: str, *, is_submitted: bool
):
    choices = (Choice("8f1c", shown="Fix it"), Choice("77aa", shown="Test it"), Choice("77ab", shown="Try it"))
    monkeypatch.setattr(SessionChoices, "newest_first", lambda *_: choices)
    completion = CommandCompletion(builtin_commands, RecordingHost()).complete(f"/resume {typed}", one_line=True)

    assert completion is not None
    assert completion.accepts_on_enter is not is_submitted


def test_titles_of_the_folders_sessions_are_offered_but_not_the_open_one(tmp_path: Path):
    paths = [written(tmp_path, UserMessage((Text(f"prompt {number}"),), time=1e9 + number)) for number in range(3)]
    choices = SessionChoices(tmp_path / "data", tmp_path)

    choices.newest_first("")
    choices.join()
    offered = choices.newest_first(paths[1].stem)

    assert [(each.value, each.shown) for each in offered] == [
        (paths[2].stem, "prompt 2"),
        (paths[0].stem, "prompt 0"),
    ]
    assert offered[0].description == f"{paths[2].stem[:8]} · {datetime.fromtimestamp(1e9):%Y-%m-%d}"


def test_front_that_is_not_ready_offers_nothing():
    class StartingHost(RecordingHost):
        def listed_models(self) -> tuple[str, ...]:
            raise CinchError("still starting")

    assert CommandCompletion(builtin_commands, StartingHost()).complete("/model ", one_line=True) is None


def test_several_lines_are_never_a_command(commands: CommandCompletion):
    assert commands.complete("/pl", one_line=False) is None


def test_best_ranks_start_over_name_over_part():
    paths = ("docs/a/parser-notes.md", "src/my_parser.py", "lib/parser.py", "parser/index.py", "parse")

    found = best("parser", [Candidate(path) for path in paths])

    assert [each.text for each in found] == [
        "parser/index.py",
        "docs/a/parser-notes.md",
        "lib/parser.py",
        "src/my_parser.py",
    ]


def test_best_takes_letters_literally_and_no_more_than_fit():
    many = [Candidate(f"file.{number}") for number in range(200)]

    assert best("e+x", many) == ()
    assert best("f*", many) == ()
    assert len(best("", many)) == len(best("f", many)) == MAX_CANDIDATES


@pytest.mark.parametrize(
    ("before", "is_asked"),
    [("@", True), ("see @src/a", True), ("(@x", True), ("me@example.org", False), ("@a b", False), ("a@", False)],
)
def test_mention_starts_a_word(before: str, is_asked: bool):
    assert MentionCompletion.is_asked(before) is is_asked


async def test_listing_follows_gitignore_and_leaves_git_out(repository: Path):
    assert await list_paths(repository) == [".gitignore", "b.py", "src/", "src/deep/", "src/deep/a.py"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in ("src/deep/a.py", "b.py", "c.log", "odd\nname"):
        (tmp_path / name).touch()
    (tmp_path / ".gitignore").write_text("*.log\n")
    return tmp_path


async def test_mentions_offer_what_was_listed(repository: Path):
    mentions = MentionCompletion(repository)
    assert mentions.is_stale
    assert mentions.complete("see @a") is None

    await mentions.load()

    completion = mentions.complete("see @a.p")
    assert completion == Completion(5, "a.p", (Candidate("src/deep/a.py", then=" "),))
    assert not mentions.is_stale


async def test_listing_a_missing_folder_offers_nothing(tmp_path: Path):
    assert await list_paths(tmp_path / "gone") == []


def test_history_outlives_its_process(tmp_path: Path):
    path = tmp_path / "state" / "history.jsonl"
    PromptHistory(path).add("first\nwith two lines")

    again = PromptHistory(path)

    assert again.walk(UserInput(""), -1) == UserInput("first\nwith two lines")
    assert path.stat().st_mode & 0o077 == 0


def test_two_at_a_time_find_what_the_other_sent_behind_their_own(tmp_path: Path):
    here, there = PromptHistory(tmp_path / "history.jsonl"), PromptHistory(tmp_path / "history.jsonl")
    here.add("mine")
    there.add("theirs")

    assert list(here.entries) == ["theirs", "mine"]
    assert here.walk(UserInput("draft"), -1) == UserInput("mine")
    there.add("theirs meanwhile")
    assert here.walk(UserInput("mine"), -1) == UserInput("theirs")
    assert here.walk(UserInput("theirs"), 1) == UserInput("mine")
    here.add("mine again")
    assert list(here.entries) == ["theirs", "theirs meanwhile", "mine", "mine again"]
    assert list(PromptHistory(tmp_path / "history.jsonl").entries) == [
        "mine",
        "theirs",
        "theirs meanwhile",
        "mine again",
    ]


def test_history_skips_torn_and_foreign_lines(tmp_path: Path):
    path = tmp_path / "history.jsonl"
    path.write_text('{"text": "good"}\n[1]\n{"text": 7}\n\xff\n{"text": "to')
    history = PromptHistory(path)
    history.add("after the crash")

    again = PromptHistory(path)

    assert again.walk(UserInput(""), -1) == UserInput("after the crash")
    assert again.walk(UserInput("after the crash"), -1) == UserInput("good")
    assert again.walk(UserInput("good"), -1) is None


def test_history_keeps_its_newest_thousand(tmp_path: Path):
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps({"text": f"entry {number}"}) + "\n" for number in range(MAX_ENTRIES + 500)))

    assert PromptHistory(path).walk(UserInput(""), -1) == UserInput(f"entry {MAX_ENTRIES + 499}")

    assert len(path.read_text().splitlines()) == MAX_ENTRIES


def test_repeated_and_blank_entries_are_kept_once_or_not(tmp_path: Path):
    history = PromptHistory(tmp_path / "history.jsonl")

    for text in ("same", "same", " ", "#key openai sk-canary"):
        history.add(text)

    assert history.walk(UserInput(""), -1) == UserInput("same")
    assert history.walk(UserInput("same"), -1) is None
    assert "canary" not in (tmp_path / "history.jsonl").read_text()


def test_history_whose_file_is_a_folder_is_kept_in_memory(tmp_path: Path):
    history = PromptHistory(tmp_path)

    history.add("still here")

    assert history.walk(UserInput(""), -1) == UserInput("still here")
