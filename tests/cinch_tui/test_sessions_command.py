from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from fakes.session_commands import Run
from fakes.talk import call, reply, result, tell, tour, written
from rich.cells import cell_len

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands import sessions
from harness.messages import AssistantMessage, Cost, Text, ToolCall, Usage, new_id, user
from harness.session.journal import Journal
from harness.session.paths import project_dir
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_list_shows_id_age_and_title(run: Run, tmp_path: Path):
    path = written(tmp_path, user("fix the\ntests"))

    status, out, _ = run("list")

    assert status == 0
    header, row = out.splitlines()
    assert header.split() == ["ID", "LAST", "USED", "SIZE", "MODEL", "COST", "TITLE", "·", "LAST", "PROMPT"]
    assert row.startswith(f"{path.stem[:8]}  just now  ")
    assert row.endswith("  fix the tests")
    assert row.index("fix") == header.index("TITLE")


def test_empty_list_is_reported(run: Run):
    assert run("list")[1].endswith("; --all lists the sessions of all folders\n")
    assert run("list", "--all")[1] == "no sessions\n"
    assert run("list", "--json")[1] == "[]\n"


def test_list_as_json_can_be_read_by_a_program(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())

    listed = json.loads(run("list", "--json")[1])

    assert [(each["id"], each["title"], each["locked"]) for each in listed] == [(path.stem, "look at both", False)]


def test_list_all_names_the_folders(run: Run, tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path / "elsewhere", new_id())
    tell(store, user("there"))
    store.close()

    assert "elsewhere" not in run("list")[1].partition(";")[2]
    assert str(tmp_path / "elsewhere") in run("list", "--all")[1]


def test_list_shows_model_cost_last_prompt_and_tags(run: Run, tmp_path: Path):
    priced = AssistantMessage((Text("ok"),), "m-1", "demo", Usage(1, 2, cost=Cost(0.5, 0.25)))
    written(tmp_path, user("first"), priced, user("and then"))
    run("tag", "latest", "urgent")

    out = run("list")[1]

    assert out.splitlines()[1].split("  ")[-3:] == ["demo/m-1", "$0.7500", "first · and then · #urgent"]
    (listed,) = json.loads(run("list", "--json")[1])
    assert (listed["model"], listed["cost"], listed["last_prompt"], listed["messages"], listed["tags"]) == (
        "demo/m-1", 0.75, "and then", 3, ["urgent"],
    )  # fmt: skip


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_list_fits_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int):
    monkeypatch.setenv("CINCH_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", str(columns))
    written(tmp_path, user("为什么这么慢 " * 20), reply("x"))
    out = Terminal()

    sessions.run(["list", "--all"], tmp_path, Output(out))

    assert all(cell_len(line) <= columns for line in out.getvalue().splitlines())
    assert "为什么" in out.getvalue()


def test_unreadable_session_is_an_error_of_the_list(run: Run, tmp_path: Path):
    path = written(tmp_path, user("go"))
    # A link to itself cannot be read, not even by root.
    (path.parent / "aaaa.jsonl").symlink_to("aaaa.jsonl")

    status, out, err = run("list")

    assert (status, path.stem[:8] in out) == (1, True)
    assert err.startswith(f"cinch sessions: {path.parent / 'aaaa.jsonl'} cannot be read: ")


def test_show_prints_the_conversation(run: Run, tmp_path: Path):
    written(tmp_path, *tour())

    status, out, _ = run("show", "latest")

    assert status == 0
    assert [line for line in out.splitlines()[2:] if line] == [
        "> look at both",
        "looking",
        '* read_file {"path": "x"}',
        "    first",
        '* read_file {"path": "y"}',
        "    second",
        "both are fine",
    ]


def test_show_truncates_long_results_with_a_note(run: Run, tmp_path: Path):
    written(tmp_path, user("go"), reply(call("a")), result("a", "\n".join(map(str, range(30)))))

    assert "    … 18 more lines\n" in run("show", "latest")[1]


def test_control_sequences_never_reach_the_terminal(run: Run, tmp_path: Path):
    evil = "\x1b]0;owned\x07 red \x1b[31m"
    path = written(tmp_path, user(evil), reply(evil, ToolCall("a", "x", {}, evil)), result("a", evil))
    run("rename", "latest", evil)

    shown = [run("show", "latest"), run("list"), run("search", "red"), run("doctor"), run("rename", path.stem, evil)]

    assert not any("\x1b" in text or "\x07" in text for _, *texts in shown for text in texts)


def test_search_prints_the_match_and_the_command_that_opens_it(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())

    status, out, _ = run("search", "FIRST")

    (hit,) = json.loads(run("search", "first", "--json")[1])
    assert status == 0
    head, snippet, command = out.splitlines()
    assert head.endswith("  tool  look at both")
    assert (snippet, command) == ("  first", f"  cinch --resume {path.stem}@{hit['message_id']}")
    assert hit["resume"] == command.strip()
    assert hit["message_id"] in load_session(path).messages.line_ids()
    assert run("search", "nowhere")[:2] == (1, "no matches for 'nowhere' in this folder; --all searches all folders\n")


def test_search_is_restricted_by_its_options(run: Run, tmp_path: Path):
    written(
        tmp_path,
        user(
            "task",
        ),
        reply("the task", call("a")),
        result("a", "task done"),
    )

    def count(*options: str) -> int:
        return len(json.loads(run("search", "task", "--json", *options)[1]))

    assert count() == 3
    assert count("--limit", "2") == 2
    assert count("--tool", "read_file") == 1
    assert count("--model", "m-1") == 3
    assert count("--model", "m-2") == count("--file", "nothing.py") == 0
    assert count("--since", "1d") == count("--since", "2000-01-01") == 3
    assert count("--until", "2000-01-01") == count("--until", "1d") == 0
    assert run("search", "task", "--since", "soon")[0] == 2
    assert run("search", "task", "--limit", "0")[0] == 2


def test_rename_appends_and_the_last_title_counts(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    before = path.read_bytes()

    run("rename", path.stem[:8], "one")
    run("rename", path.stem[:8], "two", "words")

    assert path.read_bytes().startswith(before)
    assert run("list")[1].endswith("two words\n")


def test_removed_session_is_restored_from_the_trash(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    kept = path.read_bytes()
    assert run("rm", path.stem)[0] == 0
    assert list(path.parent.iterdir()) == []
    assert run("trash")[1].startswith(path.stem[:8])
    assert "look at both" in run("trash")[1]

    assert run("restore", path.stem[:8])[0] == 0

    assert path.read_bytes() == kept
    assert run("trash")[1] == "the trash is empty\n"


def test_fork_copies_up_to_a_message(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour(), user("again"), reply("done"))

    status, out, _ = run("fork", f"{path.stem[:8]}@3")

    forked = load_session(path.with_name(f"{out.split()[2].rstrip(';')}.jsonl"))
    assert status == 0
    assert (len(forked.messages), forked.title) == (5, "look at both (fork)")
    assert run("fork", "latest@99")[0] == 1


def test_emptying_the_trash_needs_confirmation(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    run("rm", path.stem, "--yes")

    assert run("trash", "--empty")[0] == 2
    assert run("trash", "--empty", "--yes")[1] == "deleted 1 session permanently\n"
    assert run("restore", "latest")[:2] == (1, "")


def test_tags_are_added_removed_and_listed(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())

    assert run("tag", "latest", "#bug", "later")[1] == f"{path.stem[:8]} #bug #later\n"
    assert run("tag", "latest", "--remove", "BUG")[1] == f"{path.stem[:8]} #later\n"
    assert load_session(path).tags == ("later",)


def test_a_session_in_use_is_neither_renamed_nor_deleted(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    journal = Journal(path, print)
    journal.acquire()

    answers = [run("rename", path.stem, "x"), run("rm", path.stem, "--yes"), run("list")]

    assert [status for status, *_ in answers] == [1, 1, 0]
    assert "open in another cinch" in answers[0][2]
    assert "(in use)" in answers[2][1]
    assert path.exists()
    journal.close()


def test_doctor_explains_and_repairs(run: Run, tmp_path: Path):
    path = written(tmp_path, user("go"), reply(call("a")))
    with path.open("ab") as file:
        file.write(b'garbage\n{"type":"us')

    status, out, _ = run("doctor", path.stem)

    assert status == 1
    assert "the last line is incomplete" in out
    assert "unreadable lines, skipped (1): 4" in out
    assert "tool calls without a result (1)" in out
    assert "repaired: added the missing results of tool calls: 1" in run("doctor", "--repair")[1]
    assert "tool calls" not in run("doctor")[1]


def test_doctor_repairs_joined_and_repeated_lines_of_all_folders_and_reports_as_json(run: Run, tmp_path: Path):
    joined = written(tmp_path, *tour())
    joined.write_bytes(joined.read_bytes().replace(b'\n{"parentUuid"', b'\nforeign{"parentUuid"', 2))
    repeated = written(tmp_path, user("go"), reply(call("a")), result("a"), result("a", "again"))
    elsewhere = tmp_path / "data" / "projects" / "elsewhere"
    elsewhere.mkdir()
    moved = repeated.rename(elsewhere / repeated.name)
    before = [message.id for message in load_session(joined).messages]

    status, out, _ = run("doctor", "--all", "--json")
    reports = {report["id"]: report for report in json.loads(out)}

    assert status == 1
    assert set(reports) == {joined.stem, moved.stem}
    assert "several records on one line (2): 2, 3" in str(reports[joined.stem]["findings"])
    assert "second results of tool calls (1)" in str(reports[moved.stem]["findings"])
    run("doctor", "--all", "--repair")
    status, out, _ = run("doctor", "--all", "--json")
    assert "several records" not in out
    assert "second results" not in out
    assert [message.id for message in load_session(joined).messages] == before
    assert [message.text for message in load_session(moved).messages] == ["go", "", "fine"]


def test_unreadable_folder_is_reported_and_not_taken_for_an_empty_one(run: Run, tmp_path: Path):
    folder = project_dir(tmp_path / "data", tmp_path)
    folder.parent.mkdir(parents=True)
    # A loop, since the superuser can read every folder.
    folder.symlink_to(folder)

    for command in (["list"], ["list", "--all"], ["doctor"]):
        status, out, err = run(*command)
        assert status == 1
        assert "no sessions" not in out
        assert f"{folder}" in out + err
        assert "Too many levels of symbolic links" in out + err


def test_doctor_describes_a_session_from_the_future(run: Run, tmp_path: Path):
    path = written(tmp_path, *tour())
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":9'))

    assert "session format 9" in run("doctor")[1]
    assert run("show", "latest")[0] == 1


@pytest.mark.parametrize("argv", [[], ["lst"], ["show"], ["export", "x", "--format", "pdf"], ["list", "--what"]])
def test_invalid_arguments_exit_with_2_and_name_the_help(run: Run, argv: list[str]):
    status, out, err = run(*argv)

    assert (status, out) == (2, "")
    assert err.startswith("cinch sessions: ")
    assert "--help" in err


def test_help_is_printed(run: Run):
    status, out, err = run("--help")

    assert (status, err) == (0, "")
    assert all(
        word in out
        for word in (
            "list",
            "show",
            "search",
            "export",
            "import",
            "rename",
            "tag",
            "fork",
            "rm",
            "restore",
            "trash",
            "doctor",
        )
    )


def test_an_id_with_a_path_in_it_is_refused(run: Run):
    status, _, err = run("show", "../../secret")

    assert status == 1
    assert "not a session id" in err
