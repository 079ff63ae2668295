from __future__ import annotations

import pytest
from fakes.script import Reply

TRACE = "Traceback"
BROKEN = """
import cinch_tui.print_mode.run

def broken(*_):
    secret = "sk-hidden"
    raise RuntimeError("\x1b[31mbroken")

cinch_tui.print_mode.run.run_print = broken
"""


@pytest.fixture(autouse=True)
def _shared_prices() -> None:
    """Start without a cache, so that the home directory is created."""


@pytest.fixture
def model(serve):
    server = serve(lambda _: Reply("hello to you"))
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-x"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[model]\nname = "demo"\nthinkng = "high"\n', "line 3: unknown key 'model.thinkng'; did you mean"),
        ('[model]\nthinking = "hgih"\n', "line 2: model.thinking must be one of off"),
        ("[model\n", "line 1: is not valid TOML"),
    ],
)
def test_configuration_error_stops_the_start_with_file_line_and_nearest_key(printed, own_home, text, said):
    file = own_home / "cinch" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)

    for arguments in (("-p", "hello"), ("config", "show")):
        done = printed(*arguments)

        assert done.returncode == 2
        assert f"{file}, {said}" in done.stderr
        assert TRACE not in done.stderr


def test_deleted_folder_is_reported(printed, tmp_path, model):
    gone = tmp_path / "gone"
    gone.mkdir()

    done = printed("-p", "hello", before=f"cd {gone} && rmdir {gone}", **model)

    assert done.returncode == 2
    assert "the current folder no longer exists" in done.stderr


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere"])
def test_unwritable_home_is_reported_and_the_answer_still_comes(printed, model, home):
    done = printed("-p", "hello", CINCH_HOME=home, **model)

    assert done.stdout == "hello to you\n"
    assert "The session cannot be saved" in done.stderr
    assert TRACE not in done.stderr


def test_app_without_a_terminal_points_to_print_mode(printed):
    for closed in ("", "<&-", ">/dev/null"):
        done = printed(after=closed)

        assert done.returncode == 2
        assert "cinch -p" in done.stderr
        assert TRACE not in done.stderr


@pytest.mark.parametrize("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_print_mode_answers_with_any_closed_stream(printed, model, closed):
    done = printed("-p", "hello", after=closed, **model)

    assert done.stdout == "hello to you\n"
    assert done.returncode == 0


def test_internal_error_in_print_mode_is_a_sentence_and_a_private_file(printed, tmp_path, own_home):
    (tmp_path / "sitecustomize.py").write_text(BROKEN)

    done = printed("-p", "hello", before=f"export PYTHONPATH={tmp_path}:$PYTHONPATH")

    (report,) = (own_home / "cinch" / "state").glob("crash-*.txt")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "RuntimeError: broken" in done.stderr
    assert str(report) in done.stderr
    assert report.stat().st_mode & 0o777 == 0o600
    assert "in broken" in report.read_text()
    assert "sk-hidden" not in report.read_text()
