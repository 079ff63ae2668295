from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fakes.hub_server import HubServer
from fakes.tiny_gguf import write_model

from cinch_tui.print_mode.output import Output
from cinch_tui.subcommands.pull import ProgressBar, bytes_text, pull, pull_if_missing, run_pull
from harness.errors import AuthenticationFailed, ConfigError, ModelNotFound, NetworkError, StreamError

WEIGHTS = random.Random(4).randbytes(5_000_000)
Q4, Q8 = "tiny-Q4_K_M.gguf", "tiny-Q8_0.gguf"
NAME = "acme/tiny-GGUF"
PARTS = {f"big/big-Q6_K-0000{number}-of-00003.gguf": WEIGHTS[:number] for number in (1, 2, 3)}
ROOT = Path(__file__).resolve().parents[2]
OpenHub = Callable[..., HubServer]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CINCH_HOME", str(tmp_path))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data" / "models" / NAME


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenHub]:
    opened: list[HubServer] = []

    def start(files: dict[str, bytes] | None = None, **traits: object) -> HubServer:
        given = {"README.md": b"# Tiny", Q8: WEIGHTS[:100], Q4: WEIGHTS, **PARTS} if files is None else files
        opened.append(HubServer(given, **traits).__enter__())
        monkeypatch.setenv("HF_ENDPOINT", opened[-1].url)
        return opened[-1]

    yield start
    for server in opened:
        server.__exit__()


def files_in(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        (NAME, Q4),
        (f"{NAME}:q8_0", Q8),
        (f"{NAME}/{Q8}", Q8),
        (f"hf.co/{NAME}:Q8_0", Q8),
        (f"https://huggingface.co/{NAME}/blob/main/{Q8}", Q8),
    ],
)
def test_a_model_is_pulled_by_its_common_name(hub: OpenHub, home: Path, name: str, file: str) -> None:
    server = hub()

    path = pull(name, io.StringIO())

    assert path == home / file
    assert path.read_bytes() == server.files[file]
    assert [*files_in(home)] == [file]


def test_a_model_in_several_files_is_pulled_whole(hub: OpenHub, home: Path) -> None:
    hub(page=2)

    path = pull(f"{NAME}:Q6_K", io.StringIO())

    assert path == home / "big/big-Q6_K-00001-of-00003.gguf"
    assert files_in(home) == {name: len(content) for name, content in PARTS.items()}


def test_a_model_that_exists_is_not_pulled_again(hub: OpenHub) -> None:
    server = hub()
    pull(NAME, io.StringIO())

    pull(NAME, io.StringIO())

    assert len(server.ranges) == 1


def test_a_download_resumes_after_a_lost_connection(hub: OpenHub, home: Path) -> None:
    server = hub(cut_after=2_000_000)

    pull(NAME, io.StringIO())

    assert (home / Q4).read_bytes() == WEIGHTS
    assert server.ranges == ["", "bytes=2000000-", "bytes=4000000-"]


def test_a_later_pull_continues_where_the_last_one_was_cut(hub: OpenHub, home: Path) -> None:
    server = hub(cut_after=0)
    server.cut_after = 1_500_000
    stopped = Stop(after=1)
    with pytest.raises(KeyboardInterrupt):
        pull(NAME, stopped)
    assert Q4 not in files_in(home)
    left = next(size for name, size in files_in(home).items() if name.endswith(".part"))
    server.cut_after = None
    server.asked.clear()

    pull(NAME, io.StringIO())

    assert server.ranges == [f"bytes={left}-"]
    assert files_in(home) == {Q4: len(WEIGHTS)}


class Stop(io.StringIO):
    """Output that interrupts the pull after `after` lines."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def write(self, text: str) -> int:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return super().write(text)


def test_a_hub_without_ranges_restarts_the_download(hub: OpenHub, home: Path) -> None:
    server = hub(cut_after=2_000_000, takes_ranges=False)
    with pytest.raises(NetworkError, match="closed the connection early; pull again"):
        pull(NAME, io.StringIO())
    assert Q4 not in files_in(home)
    server.cut_after = None

    pull(NAME, io.StringIO())

    assert (home / Q4).read_bytes() == WEIGHTS


@pytest.mark.parametrize("left", [WEIGHTS[:1000][::-1], WEIGHTS + b"more"], ids=["something else", "too much"])
def test_partial_download_is_verified(hub: OpenHub, home: Path, left: bytes) -> None:
    server = hub(cut_after=1_000_000)
    with pytest.raises(KeyboardInterrupt):
        pull(NAME, Stop(after=1))
    (part,) = home.glob("*.part")
    part.write_bytes(left)
    server.cut_after = None

    if len(left) < len(WEIGHTS):
        with pytest.raises(StreamError):
            pull(NAME, io.StringIO())
    pull(NAME, io.StringIO())

    assert (home / Q4).read_bytes() == WEIGHTS


def test_a_file_that_differs_from_the_hubs_checksum_is_removed(hub: OpenHub, home: Path) -> None:
    hub(states={Q4: "f" * 64})

    with pytest.raises(StreamError, match="is corrupt: the checksum differs from the hub's"):
        pull(NAME, io.StringIO())

    assert [name for name in files_in(home) if not name.endswith(".lock")] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (f"{NAME}:Q3_K_S", "has no Q3_K_S; it has Q4_K_M, Q6_K, Q8_0"),
        (f"{NAME}/tiny-Q4_K.gguf", f"has no tiny-Q4_K.gguf; did you mean {Q4} or"),
        ("./model.gguf", "is a path; only models of a hub can be downloaded"),
        ("qwen", "is not a model name: use a path"),
        ("acme/../x", "is not a model name"),
    ],
)
def test_a_wrong_name_is_reported_with_what_there_is(hub: OpenHub, name: str, words: str) -> None:
    hub()

    with pytest.raises(ConfigError, match=words):
        pull(name, io.StringIO())


def test_a_repository_without_models_is_reported(hub: OpenHub) -> None:
    hub({"model.safetensors": b"x"})

    with pytest.raises(ConfigError, match="contains no GGUF file"):
        pull(NAME, io.StringIO())


def test_an_unknown_repository_is_reported(hub: OpenHub) -> None:
    hub()

    with pytest.raises(ModelNotFound, match=r"acme/else does not exist at .*, or is private: export HF_TOKEN"):
        pull("acme/else", io.StringIO())


def test_a_gated_repository_names_where_to_request_access(hub: OpenHub, monkeypatch: pytest.MonkeyPatch) -> None:
    server = hub(closed=True, token="hf_secret")

    with pytest.raises(AuthenticationFailed, match=f"request it at {server.url}/{NAME} and export HF_TOKEN"):
        pull(NAME, io.StringIO())

    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(AuthenticationFailed, match="with the account of HF_TOKEN") as failed:
        pull(NAME, io.StringIO())
    assert "hf_wrong" not in str(failed.value)


def test_the_token_opens_a_closed_repository(hub: OpenHub, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = hub(closed=True, token="hf_secret")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")

    pull(NAME, io.StringIO())

    assert (home / Q4).is_file()
    assert server.tokens == {"Bearer hf_secret"}


def test_a_busy_hub_is_reported(hub: OpenHub) -> None:
    hub(status=503)

    with pytest.raises(NetworkError, match="returned 503"):
        pull(NAME, io.StringIO())


def test_a_hub_that_is_not_there_is_reported(hub: OpenHub) -> None:
    hub().__exit__()

    with pytest.raises(NetworkError, match="cannot be reached"):
        pull(NAME, io.StringIO())


def test_files_that_would_leave_the_folder_are_not_seen(hub: OpenHub) -> None:
    hub({"../../../evil-Q4_K_M.gguf": b"x", "/etc/evil.gguf": b"x"})

    with pytest.raises(ConfigError, match="contains no GGUF file"):
        pull(NAME, io.StringIO())


def test_a_disk_without_room_is_reported_before_anything_comes(hub: OpenHub, monkeypatch: pytest.MonkeyPatch) -> None:
    server = hub()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))

    with pytest.raises(ConfigError, match=r"not enough disk space for tiny-Q4_K_M\.gguf: it needs 0\.0 GB"):
        pull(NAME, io.StringIO())

    assert server.ranges == []


def test_a_disk_that_fills_up_is_reported_and_the_beginning_is_kept(hub: OpenHub, home: Path) -> None:
    hub()
    code = (
        "import io, resource, sys\n"
        "from cinch_tui.subcommands.pull import pull\nfrom harness.errors import ConfigError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))\n"
        f"try: pull({NAME!r}, io.StringIO())\n"
        "except ConfigError as error: print(error)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "cannot be written: File too large; the partial download is kept" in done.stdout
    assert Q4 not in files_in(home)
    assert any(name.endswith(".part") and size > 0 for name, size in files_in(home).items())


def test_lines_report_it_where_no_bar_moves(hub: OpenHub) -> None:
    hub()
    reported = io.StringIO()

    pull(NAME, reported)

    lines = reported.getvalue().splitlines()
    assert 1 <= len(lines) <= 10
    assert all(line.startswith(Q4) for line in lines)
    assert "100%  5 MB of 5 MB" in lines[-1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_reports_share_rate_and_time_left() -> None:
    terminal, now = Terminal(), [0.0]
    with ProgressBar("x.gguf", 4_000_000_000, terminal, lambda: now[0]) as bar:
        bar.update(1_000_000_000)
        now[0] = 10.0
        bar.update(2_000_000_000)

    painted = terminal.getvalue().split("\r\x1b[K")
    assert painted[1] == "x.gguf [============            ]  50%  2 GB of 4 GB, 100 MB/s, 0:20 left"
    assert painted[-1] == f"{painted[1]}\n"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (4.7e9, "4.7 GB"), (123e6, "123 MB")]
)
def test_sizes_read_well(size: float, text: str) -> None:
    assert bytes_text(size) == text


def test_pulled_models_are_listed(hub: OpenHub) -> None:
    hub()
    for name in (NAME, f"{NAME}:Q6_K"):
        pull(name, io.StringIO())
    out = io.StringIO()

    run_pull(["local"], out=Output(out))

    assert out.getvalue().splitlines() == [
        f"local/{NAME}/big/big-Q6_K-00001-of-00003.gguf  6 bytes",
        f"local/{NAME}/{Q4}  5 MB",
    ]


def test_an_empty_list_explains_how_to_start() -> None:
    out = io.StringIO()

    run_pull(["local"], out=Output(out))

    assert "cinch models pull OWNER/REPOSITORY" in out.getvalue()


@pytest.mark.requires_module("llama_cpp")
def test_a_start_pulls_what_it_names(hub: OpenHub, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = hub()

    pull_if_missing(f"local/{NAME}:Q8_0")
    pull_if_missing(f"local/{NAME}:Q8_0")
    pull_if_missing("local/./here.gguf")
    pull_if_missing("ollama/qwen3")

    assert files_in(home) == {Q8: 100}
    assert len(server.ranges) == 1
    assert "100%" in capsys.readouterr().err


@pytest.mark.requires_module("llama_cpp")
def test_print_mode_pulls_its_model_and_answers(hub: OpenHub, tmp_path: Path) -> None:
    hub({"tiny.gguf": write_model(tmp_path / "tiny.gguf", {"<|act|>": ["Fine", "."]}).read_bytes()})

    done = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "-p", "How are you?", "-m", f"local/{NAME}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        env={**os.environ, "CINCH_KEYRING": "off", "PYTHONPATH": str(ROOT)},
    )

    assert (done.stdout, done.returncode) == ("Fine.\n", 0)
    assert "tiny.gguf" in done.stderr
    assert "100%" in done.stderr


def test_two_pulls_of_one_file_do_not_meet(hub: OpenHub, home: Path) -> None:
    hub()
    holder = (
        "import sys; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]): print('held', flush=True); sys.stdin.read()"
    )
    with pytest.raises(KeyboardInterrupt):
        pull(NAME, Stop(after=1))
    (part,) = home.glob("*.part")
    with subprocess.Popen(
        [sys.executable, "-c", holder, f"{part}.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"

        with pytest.raises(ConfigError, match="being pulled by another cinch"):
            pull(NAME, io.StringIO())
        other.communicate()
