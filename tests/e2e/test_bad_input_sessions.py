from __future__ import annotations

import resource

import pytest
from fakes.script import Reply

pytestmark = pytest.mark.pty

MUCH = "word " * 2000


@pytest.fixture
def model(serve):
    server = serve(lambda body: Reply(f"answer {len(body['messages'])}"))
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


def session_file(own_home):
    return next((own_home / "cinch" / "data").rglob("*.jsonl"))


def test_torn_session_file_continues(printed, own_home, model):
    printed("-p", "hello", **model)
    file = session_file(own_home)
    with file.open("ab") as writer:
        writer.write(b'{"type": "user", "message": {"role": "us')

    done = printed("-p", "and more", "-c", **model)

    assert done.returncode == 0
    assert done.stdout == "answer 3\n"
    assert b'"us\n{' in file.read_bytes()


def test_damaged_line_is_named_and_the_rest_is_used(printed, own_home, model):
    printed("-p", "hello", **model)
    file = session_file(own_home)
    file.write_bytes(b"\x00\xffgarbage\n" + file.read_bytes())

    done = printed("-p", "and more", "-c", **model)

    assert done.stdout == "answer 3\n"
    assert "line 1 of the session file cannot be read" in done.stderr


def test_missing_session_is_reported_with_the_nearest_id(printed, own_home, model):
    printed("-p", "hello", **model)
    name = session_file(own_home).stem

    done = printed("-p", "more", "-r", name[:-2] + "zz", **model)

    assert done.returncode == 2
    assert f"did you mean {name}" in done.stderr


def test_continuing_without_a_session_is_reported(printed, model):
    done = printed("-p", "more", "-c", **model)

    assert done.returncode == 2
    assert "no sessions in" in done.stderr


def test_full_disk_is_reported_in_print_mode_and_the_answer_still_comes(printed, model):
    done = printed("-p", MUCH, before="ulimit -f 2", **model)

    assert done.stdout == "answer 1\n"
    assert "The session cannot be saved" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("cinch: the session could not be saved in /")


def test_full_disk_loses_nothing_once_there_is_space_again(terminal, own_home, model):
    cinch = terminal(env=model)
    cinch.see("anthropic/claude")
    cinch.enter("the first")
    cinch.see("answer 1")
    limits = resource.prlimit(cinch.pid, resource.RLIMIT_FSIZE)
    size = session_file(own_home).stat().st_size

    resource.prlimit(cinch.pid, resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    cinch.enter("said on a full disk")
    cinch.see("cannot be saved")
    cinch.see("answer 3")
    assert b"said on a full disk" not in session_file(own_home).read_bytes()

    resource.prlimit(cinch.pid, resource.RLIMIT_FSIZE, limits)
    cinch.enter("said afterwards")
    cinch.see("saved again")
    cinch.see("answer 5")
    cinch.enter("/quit")
    assert cinch.wait() == 0
    kept = session_file(own_home).read_text()
    for words in ("the first", "said on a full disk", "said afterwards", "answer 3", "answer 5"):
        assert words in kept


def test_exit_with_a_full_disk_reports_the_loss(terminal, own_home, model):
    cinch = terminal(env=model)
    cinch.see("anthropic/claude")
    limits = resource.prlimit(cinch.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(cinch.pid, resource.RLIMIT_FSIZE, (10, limits[1]))
    cinch.enter("said on a full disk")
    cinch.see("answer 1")

    cinch.enter("/quit")

    assert cinch.wait() == 0
    assert b"could not be saved" in cinch.raw[-300:]


def test_session_open_elsewhere_continues_as_a_copy(terminal, own_home, model):
    first = terminal(env=model)
    first.see("anthropic/claude")
    first.enter("mine")
    first.see("answer 1")

    second = terminal("-c", env=model)
    second.see("open in another process; continuing in a copy")
    second.enter("in the copy")
    second.see("answer 3")
    first.enter("mine too")
    first.see("answer 3")

    for cinch in (first, second):
        cinch.enter("/quit")
        assert cinch.wait() == 0
    texts = sorted(path.read_text() for path in (own_home / "cinch" / "data").rglob("*.jsonl"))
    assert sorted(("in the copy" in text, "mine too" in text) for text in texts) == [(False, True), (True, False)]
    assert not list(own_home.rglob("*.lock"))


def test_app_rejects_a_missing_session(terminal, printed, own_home, model):
    printed("-p", "hello", **model)
    name = session_file(own_home).stem

    cinch = terminal("-r", name[:-2] + "zz", env=model)

    assert cinch.wait() == 2
    assert f"did you mean {name}".encode() in cinch.raw
