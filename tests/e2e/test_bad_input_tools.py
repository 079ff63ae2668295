from __future__ import annotations

import os

import pytest
from fakes.processes import running
from fakes.script import Reply

LATIN = "caf\xe9\r\nna\xefve r\xe9sum\xe9 d\xe9j\xe0 vu\r\nend\r\n".encode("latin-1")
GIGABYTE = 1 << 30


@pytest.fixture
def reported(serve, printed):
    """Return the results, as text, that the model receives for calls made in one reply."""

    def run(*batches, **env):
        server = serve([*(Reply(calls=calls) for calls in batches), Reply("done")])
        keys = {"OPENAI_BASE_URL": server.openai_url, "OPENAI_API_KEY": "sk-x"}
        done = printed("-p", "hello", "-m", "openai-chat/fake-model", "--approve", "off", **keys, **env)
        assert done.stdout == "done\n", done.stderr
        assert done.returncode == 0
        return [each["content"] for each in server.requests[-1].body["messages"] if each["role"] == "tool"]

    return run


def test_invalid_calls_are_explained_to_the_model(reported):
    answers = reported(
        [
            ("read_file", '{"path": "a'),
            ("read_file", "[1]"),
            ("read_file", {"pth": "a"}),
            ("read_file", {"path": 7}),
            ("read_fil", {"path": "a"}),
        ]
    )

    wanted = ["not valid JSON", "not an object", "missing: path", "path: must be string", "did you mean read_file"]
    for answer, part in zip(answers, wanted, strict=True):
        assert part in answer


def test_unreadable_files_are_explained_and_never_opened(reported, project, tmp_path):
    (project / "picture.bin").write_bytes(bytes(range(256)) * 10)
    with (project / "huge.log").open("wb") as file:
        file.write(b"first line\n" + b"x" * 100 + b"\n")
        file.truncate(2 * GIGABYTE)
    (project / "out").symlink_to("/etc")
    os.mkfifo(project / "pipe")
    wanted = {
        "picture.bin": "binary",
        "huge.log": "huge.log is a binary file, 2,147,483,648 bytes",
        "/etc/passwd": "outside the folders",
        "../secret": "outside the folders",
        "out/passwd": "outside the folders",
        "pipe": "named pipe",
        "/dev/zero": "outside the folders",
        "till/recept.py": "Did you mean: till/receipt.py",
        "a\0b": "is not a valid path",
        "x" * 300: "name is too long",
    }

    answers = reported([("read_file", {"path": path}) for path in wanted])

    for answer, part in zip(answers, wanted.values(), strict=True):
        assert part in answer


def test_two_gigabyte_text_is_read_in_parts_and_not_edited(reported, project):
    with (project / "huge.txt").open("wb") as file:
        file.write(b"first\nsecond\n")
        file.truncate(11 * 1024 * 1024)
        file.seek(11 * 1024 * 1024 - 6)
        file.write(b"\nlast\n")

    edited = reported([("edit_file", {"path": "huge.txt", "old_string": "first", "new_string": "1st"})])

    assert "over 10 MB" in edited[0]


def test_edit_keeps_the_surrounding_bytes(reported, project):
    file = project / "menu.txt"
    file.write_bytes(LATIN)

    reported(
        [("read_file", {"path": "menu.txt"})],
        [("edit_file", {"path": "menu.txt", "old_string": "end", "new_string": "fin\nde carte"})],
    )

    assert file.read_bytes() == LATIN.replace(b"end", b"fin\r\nde carte")


def test_nothing_is_written_outside_the_workspace(reported, project):
    (project / "out").symlink_to(project.parent)
    calls = [("write_file", {"path": path, "content": "x"}) for path in ("../stray.txt", "out/stray.txt")]

    answers = reported(calls)

    assert all("outside the folders" in answer for answer in answers)
    assert not (project.parent / "stray.txt").exists()


def test_huge_output_reaches_the_model_truncated_and_a_file_completely(reported, own_home):
    answers = reported([("bash", {"command": "yes | head -c 100000000"})])

    spilled = [path for path in own_home.rglob("output/**/*") if path.is_file()]
    assert len(answers[0]) < 60_000
    assert [path.stat().st_size for path in spilled] == [100_000_000] or str(spilled[0]) in answers[0]


@pytest.mark.parametrize(
    ("on_timeout", "text"), [("background", "Still running after 1 s"), ("kill", "Timed out after 1 s")]
)
def test_endless_command_is_stopped_with_its_processes(reported, monkeypatch, on_timeout, text):
    monkeypatch.setenv("CINCH_TOOLS_BASH_ON_TIMEOUT", on_timeout)

    answers = reported([("bash", {"command": "sleep 98765 & sleep 98765", "timeout": 1})])

    assert text in answers[0]
    assert running("sleep 98765") == 0


def test_control_characters_in_names_and_output_reach_no_terminal(serve, printed, project):
    (project / "a\x1b[31mb\x07.txt").write_text("\x1b]0;title\x07")
    server = serve([Reply(calls=[("list_files", {}), ("nope\x1b[31m", {})]), Reply("done")])

    done = printed("-p", "hi", "--verbose", ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-x")

    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr
    assert done.stdout == "done\n"
