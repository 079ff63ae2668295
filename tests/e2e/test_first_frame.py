from __future__ import annotations

import os
import re
import signal
import termios
import tty
from pathlib import Path

import pytest
from fakes.script import Reply

from cinch_tui.config.paths import find_paths
from cinch_tui.terminal.first_frame import (
    ENTER,
    LEAVE,
    cells,
    open_frame,
    read_pending_input,
    read_saved_screen,
    settings_file,
    split_typed_text,
    state_folder,
)

pytestmark = pytest.mark.pty

TAKEN_OVER = b"\x1b[?2048$p"
"""Query the app sends to the terminal once it has taken over."""


@pytest.fixture
def model(serve):
    return serve([Reply("hello to you")] * 4)


@pytest.fixture
def start(terminal, model):
    def start(*args, **env):
        return terminal(*args, env={"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-x", **env})

    return start


@pytest.fixture(scope="module")
def saved_frames() -> dict[str, bytes]:
    """Return the frames saved so far by name; a frame contains neither the folder nor anything of the home."""
    return {}


@pytest.fixture
def picture(start, own_home, saved_frames: dict[str, bytes]) -> Path:
    """Return the frame of an empty screen, saved by an earlier start."""
    folder = own_home / "cinch" / "state" / "first-frame"
    if not saved_frames:
        app = start()
        app.see("Ask for a change")
        app.until(lambda: list(folder.glob("[!.]*")), "a picture to be kept")
        app.kill()
        saved_frames.update((each.name, each.read_bytes()) for each in folder.glob("[!.]*"))
    folder.mkdir(parents=True, exist_ok=True)
    ((name, content),) = saved_frames.items()
    (folder / name).write_bytes(content)
    return folder / name


def early(app) -> bytes:
    """Return the output written before the app took over."""
    return app.raw.partition(TAKEN_OVER)[0]


@pytest.mark.usefixtures("picture")
def test_next_start_shows_the_empty_screen_before_the_app(start):
    app = start()
    app.see("Ask for a change")
    app.settle()

    assert early(app).startswith(ENTER)
    assert b"sk for a change" in early(app)
    assert app.raw.count(b"\x1b[?1049h") == 1


@pytest.mark.usefixtures("picture")
def test_text_typed_before_the_app_starts_is_in_its_prompt(start):
    app = start()
    app.written(ENTER)
    app.type("heldo\x7f\x7flo 世界")

    app.see("│ hello 世")
    app.written(TAKEN_OVER)
    app.settle()
    app.see("│ hello 世")
    app.type("!\r")
    app.see("hello to you")


@pytest.mark.parametrize("args", [(), ("-c",)])
def test_keys_typed_before_the_prompt_exists_arrive_in_order_without_a_frame(start, args: tuple[str, ...]):
    app = start(*args)
    app.type("first ")
    app.written(TAKEN_OVER)
    app.type("second ")
    app.see("╰")
    app.type("third")

    app.see("│ first second third +│")


@pytest.mark.parametrize("has_picture", [True, False])
def test_enter_typed_before_raw_mode_sends_the_prompt(start, request: pytest.FixtureRequest, has_picture: bool):
    if has_picture:
        request.getfixturevalue("picture")
    app = start()

    app.type("hello\r")

    app.see("hello to you")


@pytest.mark.usefixtures("picture")
def test_enter_before_the_app_starts_sends_the_prompt(start, model):
    app = start()
    app.written(ENTER)

    app.type("hello\rand more")

    app.see("hello to you")
    app.see("│ and more")
    assert model.requests[-1].body["messages"][-1]["content"][-1]["text"] == "hello"


@pytest.mark.usefixtures("picture")
def test_prompts_sent_separately_before_the_app_starts_stay_separate(start, model):
    app = start()
    app.written(ENTER)

    for prompt in ("one", "two", "three", "four"):
        app.type(f"{prompt}\r")
        app.read(0.02)

    app.see("❯ four")
    assert re.findall("❯ (one|two|three|four)", app.text) == ["one", "two", "three", "four"]


@pytest.mark.usefixtures("picture")
def test_paste_before_the_app_starts_stays_one_paste(start, model):
    pasted = "\r".join(f"line {number}" for number in range(2000))
    app = start()
    app.written(ENTER)

    app.type(f"see: \x1b[200~{pasted}\x1b[201~")

    app.see(r"see: \[.*2,?000 lines\]")
    assert model.requests == []


@pytest.mark.usefixtures("picture")
def test_settings_error_is_printed_on_the_primary_screen(start):
    app = start("--max-turns", "many")

    assert app.wait() == 2
    assert b"--max-turns" in app.raw.partition(LEAVE)[2]
    assert app.raw.count(ENTER) == app.raw.count(LEAVE) == 1


@pytest.mark.usefixtures("picture")
def test_ctrl_c_twice_quits_before_the_app_starts(start):
    app = start()
    app.written(ENTER)

    app.type("\x03\x03")

    assert app.wait() == 130
    assert app.raw.rstrip().endswith((b"\x1b[?25h", b"\x1b[?1004l"))


@pytest.mark.usefixtures("picture")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_kill_before_the_app_starts_restores_the_terminal(start, number: int):
    app = start()
    app.written(ENTER)

    app.kill(number)
    app.settle()

    assert b"\x1b[?1049l" in app.raw


@pytest.mark.usefixtures("picture")
@pytest.mark.parametrize("args", [("-c",), ("say it",), ("--version",), ("-p", "hi"), ("sessions", "list")])
def test_no_frame_is_shown_if_another_screen_follows(start, args: tuple[str, ...]):
    app = start(*args)
    app.settle()

    assert ENTER not in app.raw


@pytest.mark.usefixtures("picture")
@pytest.mark.parametrize("setting", ["plain = true", 'theme = "cinch-light"'])
def test_no_frame_is_shown_if_outdated_by_the_settings(start, own_home, setting: str):
    (own_home / "cinch" / "config.toml").write_text(f"[ui]\n{setting}\n")

    app = start()
    app.see("Ask for a change|#help lists")

    assert ENTER not in app.raw


@pytest.mark.usefixtures("picture")
def test_equivalent_settings_cost_one_frame(start, own_home, picture: Path):
    settings = own_home / "cinch" / "config.toml"
    settings.write_text("[ui]\ntimestamps = true\n")
    app = start()
    app.until(lambda: picture.stat().st_mtime_ns > settings.stat().st_mtime_ns, "the picture to be kept again")
    app.kill()

    app = start()
    app.see("Ask for a change")

    assert ENTER in app.raw


@pytest.mark.usefixtures("picture")
@pytest.mark.parametrize(("name", "value"), [("CINCH_UI_PLAIN", "true"), ("CINCH_UI_THEME", "cinch-light")])
def test_no_frame_is_shown_if_outdated_by_the_environment(start, name: str, value: str):
    app = start(**{name: value})
    app.see("Ask for a change|#help lists")

    assert ENTER not in app.raw


def test_frame_of_another_version_is_not_shown(start, picture: Path):
    picture.write_bytes(picture.read_bytes().replace(b"cinch ", b"cinch 9.", 1))

    app = start()
    app.see("Ask for a change")

    assert ENTER not in app.raw


def test_no_frame_is_shown_without_a_terminal():
    assert open_frame([], {}) is None


@pytest.mark.parametrize(
    ("pressed", "text", "rest"),
    [
        (b"", "", b""),
        ("grüße 世".encode(), "grüße 世", b""),
        (b"ab\x7fc\x7f\x7f\x7f\x7fd", "d", b""),
        (b"go\rnext", "go", b"\rnext"),
        (b"a\x1b[Db", "a", b"\x1b[Db"),
        ("aü".encode()[:2], "a", "ü".encode()[:1]),
        (b"\xff\xfe", "", b"\xff\xfe"),
    ],
)
def test_text_is_distinguished_from_other_keys(pressed: bytes, text: str, rest: bytes):
    assert split_typed_text(pressed) == (text, rest)


@pytest.mark.parametrize(
    ("keys", "kept"), [(b"", b""), (b"hello", b"hello"), (b"hello\rmore", b"hello\rmore"), (b"1\r2\r3", b"1\n2\n3")]
)
def test_keys_typed_before_raw_mode_are_kept_with_a_single_enter(keys: bytes, kept: bytes):
    user, terminal = os.openpty()
    try:
        os.write(user, keys)
        # The terminal echoes the typed keys after a moment, Enter as two characters.
        echoed = b""
        while len(echoed) < len(keys) + keys.count(b"\r"):
            echoed += os.read(user, 100)
        tty.setraw(terminal, termios.TCSANOW)

        assert read_pending_input(terminal) == kept
    finally:
        os.close(user)
        os.close(terminal)


def test_wide_and_combining_characters_are_measured():
    assert cells("plain") == 5
    assert cells("世界") == 4
    assert cells("e\u0301") == 1


@pytest.mark.parametrize(
    "environ",
    [
        {"CINCH_HOME": "/some/where"},
        {"CINCH_HOME": "relative"},
        {"XDG_STATE_HOME": "/x/y", "XDG_CONFIG_HOME": "/x/z"},
        {},
    ],
)
def test_frame_and_settings_paths_match_the_app(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch):
    for name in ("CINCH_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    assert state_folder(os.environ) == str(find_paths(os.environ).state)
    assert settings_file(os.environ) == str(find_paths(os.environ).config_file)


@pytest.mark.parametrize("content", [b"", b"cinch", b"cinch 0.1.0\nx y z\n\n\n\n", b"\xff" * 100])
def test_damaged_frame_is_ignored(tmp_path: Path, content: bytes):
    path = tmp_path / "picture"
    path.write_bytes(content)

    assert read_saved_screen(str(path)) is None
