from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.talk import reply, tell, tour, written

from harness.context.normalize import normalize
from harness.errors import SessionLocked
from harness.messages import new_id, user
from harness.session.journal import Journal, is_locked
from harness.session.recorder import SessionRecorder
from harness.session.resume import load_session

ROOT = Path(__file__).parents[2]
DESCRIPTORS = Path("/proc/self/fd")

APPENDER = """
import sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests"]
from fakes.talk import call, reply, result, tell
from harness.messages import user
from harness.session.recorder import SessionRecorder
store = SessionRecorder(Path(sys.argv[2]), Path(sys.argv[2]), sys.argv[3])
for number in range(1_000_000):
    tell(store, user(f"prompt {number}"), reply("looking", call(f"c{number}")), result(f"c{number}", "x" * 3000))
    print(number, flush=True)
"""

SMALL_DISK = """
import resource, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/tests"]
from fakes.talk import tell
from harness.messages import user
from harness.session.resume import load_session
from harness.session.recorder import SessionRecorder
said = []
store = SessionRecorder(Path(sys.argv[2]), Path(sys.argv[2]), sys.argv[3], on_problem=said.append)
tell(store, user("before"))
size = store.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, resource.RLIM_INFINITY))
tell(store, user("a" * 2000), user("b" * 2000))
assert store.path.stat().st_size == size, "a partial line was left"
assert [message.text for message in load_session(store.path).messages] == ["before"]
assert len(said) == 1 and "cannot be saved" in said[0] and str(store.path) in said[0], said
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
tell(store, user("after"))
assert [message.text[:6] for message in load_session(store.path).messages] == ["before", "aaaaaa", "bbbbbb", "after"]
assert len(said) == 2 and "saved again" in said[1], said
store.close()
print("ok")
"""

HOLDER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from harness.session.journal import Journal
journal = Journal(Path(sys.argv[2]), print)
journal.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, str(ROOT), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_kill_9_loses_nothing_that_was_stored(tmp_path: Path):
    session_id = new_id()
    process = python(APPENDER, str(tmp_path), session_id)
    assert process.stdout

    seen = 0
    while seen < 40:
        seen = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0].splitlines()
    stored = int(rest[-1]) if rest else seen

    path = next(tmp_path.glob("projects/*/*.jsonl"))
    session = load_session(path)
    assert len(session.messages) >= 3 * (stored + 1)
    assert session.warnings == ()
    assert len(normalize(session.messages)) in range(len(session.messages), len(session.messages) + 2)


def test_lock_of_a_killed_process_is_released(tmp_path: Path):
    path = written(tmp_path, *tour())
    process = python(HOLDER, str(path))
    try:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        assert is_locked(path)
        with pytest.raises(SessionLocked, match="open in another cinch"):
            Journal(path, print).acquire()
    finally:
        process.kill()
        process.communicate()

    assert not is_locked(path)
    journal = Journal(path, print)
    journal.acquire()
    journal.close()


def test_two_stores_cannot_write_the_same_session(tmp_path: Path):
    path = written(tmp_path, *tour())
    first = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    problems: list[str] = []
    second = SessionRecorder(
        tmp_path / "data", tmp_path, path.stem, resumed=load_session(path), on_problem=problems.append
    )

    first.acquire()
    with pytest.raises(SessionLocked):
        second.acquire()
    tell(second, user("kept in memory"))
    assert "open in another cinch" in problems[0]
    first.close()
    tell(second, reply("and written later"))
    second.close()

    assert [message.text for message in load_session(path).messages][-2:] == ["kept in memory", "and written later"]


def test_full_disk_loses_nothing(tmp_path: Path):
    process = python(SMALL_DISK, str(tmp_path), new_id())

    out, err = process.communicate(timeout=30)

    assert out == "ok\n", err


def test_deleted_file_is_rewritten_completely(tmp_path: Path):
    problems: list[str] = []
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=problems.append)
    tell(store, *tour())

    store.path.unlink()
    store.path.parent.joinpath(f"{store.path.name}.lock").unlink()
    store.path.parent.rmdir()
    tell(store, user("still here?"))
    store.close()

    assert [message.text for message in load_session(store.path).messages][-1] == "still here?"
    assert len(load_session(store.path).messages) == 6
    assert load_session(store.path).warnings == ()
    assert problems == []


def test_moved_folder_is_recreated_with_the_whole_session(tmp_path: Path):
    problems: list[str] = []
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=problems.append)
    tell(store, *tour())

    (tmp_path / "data").rename(tmp_path / "elsewhere")
    tell(store, user("still here?"))
    store.close()

    assert len(load_session(store.path).messages) == 6
    assert problems == []


def test_session_is_saved_while_its_path_cannot_be_checked(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=pytest.fail)
    tell(store, *tour())
    folder = store.path.parent

    folder.rename(tmp_path / "moved")
    folder.symlink_to(folder)
    tell(store, user("still here?"))
    folder.unlink()
    (tmp_path / "moved").rename(folder)
    store.close()

    assert [message.text for message in load_session(store.path).messages][-1] == "still here?"


def test_file_replaced_by_its_copy_continues_without_duplicate_lines(tmp_path: Path):
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=pytest.fail)
    tell(store, *tour())
    before = store.path.read_bytes()

    copy = store.path.with_suffix(".copy")
    copy.write_bytes(before)
    copy.replace(store.path)
    tell(store, user("still here?"))
    store.close()

    lines = store.path.read_bytes().splitlines()
    assert store.path.read_bytes().startswith(before)
    assert len(lines) == len(set(lines))
    assert len(load_session(store.path).messages) == 6


def test_deleted_file_is_rewritten_once_it_is_writable(tmp_path: Path):
    problems: list[str] = []
    store = SessionRecorder(tmp_path / "data", tmp_path, new_id(), on_problem=problems.append)
    tell(store, *tour())

    store.path.unlink()
    store.path.mkdir()
    tell(store, user("first"))
    store.path.rmdir()
    tell(store, user("second"))
    store.close()

    assert [message.text for message in load_session(store.path).messages][-2:] == ["first", "second"]
    assert len(load_session(store.path).messages) == 7
    assert len(problems) == 2


def test_unwritable_folder_is_reported_and_nothing_is_lost(tmp_path: Path):
    blocked = tmp_path / "data"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    problems: list[str] = []
    store = SessionRecorder(blocked, tmp_path, new_id(), on_problem=problems.append)

    store.acquire()
    assert problems == []
    tell(store, user("one"), reply("two"))
    assert len(problems) == 1
    blocked.unlink()
    store.flush()
    store.close()

    assert [message.text for message in load_session(store.path).messages] == ["one", "two"]
    assert "saved again" in problems[1]


def test_torn_line_is_never_joined_with_the_next(tmp_path: Path):
    path = written(tmp_path, *tour())
    with path.open("ab") as file:
        file.write(b'{"parentUuid":"x","isSidechain":false,"type":"us')

    store = SessionRecorder(tmp_path / "data", tmp_path, path.stem, resumed=load_session(path))
    tell(store, user("go on"))
    store.close()

    session = load_session(path)
    assert [message.text for message in session.messages][-2:] == ["both are fine", "go on"]
    assert len(session.warnings) == 1


def test_open_session_survives_the_deletion_of_its_file(tmp_path: Path):
    path = written(tmp_path, *tour())
    session = load_session(path)

    path.unlink()

    assert session.messages[-1].text == "both are fine"


def test_journal_can_be_reused_after_closing(tmp_path: Path):
    journal = Journal(tmp_path / "a.jsonl", pytest.fail)
    journal.append(b"1\n")
    journal.close()

    journal.append(b"2\n")
    journal.sync()
    journal.close()

    assert (tmp_path / "a.jsonl").read_bytes() == b"1\n2\n"
    assert journal.size == 4


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="no list of descriptors here")
def test_no_descriptor_is_left_open(tmp_path: Path):
    before = len(list(DESCRIPTORS.iterdir()))

    for _ in range(5):
        load_session(written(tmp_path, *tour()))

    assert len(list(DESCRIPTORS.iterdir())) == before
