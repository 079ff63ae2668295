from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.cinch_process import CINCH, run

from cinch_tui import __version__
from cinch_tui.cli.arguments import UsageError, parse_arguments
from cinch_tui.cli.main import main
from cinch_tui.cli.start import prepare
from harness.errors import ConfigError


def cinch(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run((*CINCH, *arguments), cwd=cwd, **environment)


@pytest.mark.parametrize(
    ("argv", "prompt"),
    [
        (["fix it"], "fix it"),
        (["fix", "it"], "fix it"),
        (["--", "sessions"], "sessions"),
        (["--", "demo", "mode"], "demo mode"),
        (["fix", "-p", "it"], "fix it"),
        (["-p", "--", "-x is broken"], "-x is broken"),
        (["-c", "and", "-m", "demo", "now"], "and now"),
        (["--system", "be brief", "hello"], "hello"),
        ([], ""),
    ],
)
def test_every_word_that_is_no_flag_is_the_prompt(argv: list[str], prompt: str) -> None:
    arguments = parse_arguments(argv)

    assert arguments.prompt == prompt
    assert not arguments.command


@pytest.mark.parametrize("command", ["sessions", "config", "models", "doctor", "keys", "reset-terminal"])
def test_a_commands_arguments_are_its_own(command: str) -> None:
    arguments = parse_arguments([command, "--list", "-p"])

    assert (arguments.command, arguments.rest, arguments.print_mode) == (command, ["--list", "-p"], False)


def test_global_options_may_precede_a_subcommand(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()

    arguments = parse_arguments(["--cwd", str(tmp_path), "sessions", "list", "--all"])
    done = cinch("--cwd", str(tmp_path), "sessions", "list", cwd=Path("/"))

    assert (arguments.command, arguments.rest, arguments.cwd) == ("sessions", ["list", "--all"], str(tmp_path))
    assert f"no sessions in {tmp_path}" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["session", "list"], "cinch sessions list"),
        (["sesions", "serch", "x"], "cinch sessions search"),
        (["--cwd", "/", "doctr"], "cinch doctor"),
        (["confg", "show"], "cinch config show"),
    ],
)
def test_mistyped_subcommand_is_an_error_with_the_nearest(argv: list[str], meant: str) -> None:
    with pytest.raises(UsageError, match=rf'did you mean "{meant}"\? .*cinch -- '):
        parse_arguments(argv)


@pytest.mark.parametrize(
    "argv",
    [["session list"], ["--", "session", "list"], ["model", "the", "data"], ["-p", "session", "list"], ["fix", "it"]],
)
def test_prompt_is_not_taken_for_a_mistyped_subcommand(argv: list[str]) -> None:
    assert parse_arguments(argv).command == ""


def test_flag_without_effect_on_a_subcommand_is_refused() -> None:
    with pytest.raises(UsageError, match="--model has no effect on cinch sessions"):
        parse_arguments(["--model", "demo", "sessions", "list"])


@pytest.mark.parametrize("command", ["sessions", "config", "models", "doctor", "keys", "reset-terminal"])
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_subcommand_states_how_it_is_used(command: str, flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    # argparse leaves by SystemExit; either way the status is 0.
    with contextlib.suppress(SystemExit):
        assert main([command, flag]) == 0

    assert f"cinch {command}" in capsys.readouterr().out


def test_help_fits_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert main(["--help"]) == 0

    assert max(map(len, capsys.readouterr().out.splitlines())) < 80


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--max-turns", "x"], "invalid int value"),
        (["-p", "--output-format", "xml"], "invalid choice"),
        (["-c", "-r", "abc"], "cannot be combined"),
        (["--fork"], "needs a session to copy"),
        (["-p", "-r"], "needs an ID in print mode"),
        (["-p", "-r", "a@3"], "cinch sessions fork a@3"),
        (["--output-format", "json"], "add -p"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(argv: list[str], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_arguments(argv)


def test_flags_become_settings_and_options(tmp_path: Path) -> None:
    argv = [
        "-p",
        "-m",
        "demo",
        "--approve",
        "off",
        "--max-turns",
        "3",
        "--max-cost",
        "0.5",
        "--plan",
        "--allow",
        "bash:ls",
    ]

    options, settings = prepare(parse_arguments([*argv, "--cwd", str(tmp_path), "--no-session", "go"]))

    assert (settings.model.name, settings.approval.mode, settings.permissions.allow) == ("demo", "off", ("bash:ls",))
    assert (settings.limits.max_turns, settings.limits.max_turns_headless) == (3, 3)
    assert (settings.limits.max_cost_usd, settings.plan.enabled) == (0.5, True)
    assert (options.cwd, options.headless, options.keep_session, options.prompt) == (tmp_path, True, False, "go")


@pytest.mark.parametrize(
    ("argv", "beginning"),
    [([], None), (["-c"], "latest"), (["-r"], ""), (["-r", "abc"], "abc")],
)
def test_resume_flags_set_one_resume_option(argv: list[str], beginning: object) -> None:
    options, _ = prepare(parse_arguments(argv))

    assert options.resume == beginning


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["--thinking", "hard"], "--thinking must be one of off, minimal"),
        (["--approve", "maybe"], "--approve must be one of on, smart, edits, off, not 'maybe'"),
        (["--max-turns", "-1"], "--max-turns must be 0 or more"),
        (["--max-cost", "nan"], "--max-cost must be a number"),
        (["--cwd", "/no/such"], "/no/such is not a folder"),
        (["--add-dir", "/no/such"], "/no/such is not a folder"),
        (["--config", "/no/such"], "/no/such: cannot be read"),
    ],
)
def test_a_flag_with_a_bad_value_names_itself(argv: list[str], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        prepare(parse_arguments(argv))


def test_dialect_that_does_not_exist_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CINCH_TOOLS_DIALECT", "claud")

    with pytest.raises(ConfigError, match=r"there is no dialect 'claud'; did you mean 'claude'"):
        prepare(parse_arguments([]))


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0

    assert capsys.readouterr().out == f"cinch {__version__}\n"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ([], "the app needs a terminal"),
        (["-p"], "print mode needs a prompt"),
        (["-p", "x", "-m", "antropic/x"], "did you mean anthropic"),
        (["-p", "x"], "no model selected"),
        (["--bogus"], "unrecognized arguments"),
        (["config", "frobnicate"], "usage: cinch config"),
        (["models", "huggingface"], "no key for Hugging Face"),
        (["-p", "x", "-m", "demo", "-r", "no-such-session"], "no-such-session"),
    ],
)
def test_usage_error_is_one_sentence_and_status_2(argv: list[str], sentence: str, tmp_path: Path) -> None:
    done = cinch(*argv, cwd=tmp_path)

    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("cinch: ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_typo_in_the_configuration_stops_the_start(tmp_path: Path, own_home: Path) -> None:
    path = own_home / "cinch" / "config.toml"
    path.write_text("[ui]\ntehme = 'x'\n")

    done = cinch("-p", "hello", "-m", "demo", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == f"cinch: {path}, line 2: unknown key 'ui.tehme'; did you mean 'ui.theme'?\n"


def test_config_show_reports_values_and_their_places(tmp_path: Path) -> None:
    done = cinch("config", "show", cwd=tmp_path, CINCH_UI_THEME="paper", CINCH_MODEL_BASE_URL="http://me:secret@box/v1")

    assert 'theme = "paper"  # CINCH_UI_THEME' in done.stdout
    assert "max_turns = 50\n" in done.stdout
    assert "secret" not in done.stdout


def test_a_projects_file_counts_once_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / ".cinch").mkdir()
    (tmp_path / ".cinch" / "config.toml").write_text('model.name = "demo"\n')

    before = cinch("config", "show", cwd=tmp_path)
    trusting = cinch("config", "trust", cwd=tmp_path)
    after = cinch("config", "show", cwd=tmp_path)

    assert "is not trusted" in before.stdout
    assert 'name = ""' in before.stdout
    assert "model.name = 'demo'" in trusting.stdout
    assert 'name = "demo"' in after.stdout


def test_config_edit_starts_from_the_example_and_checks_the_result(tmp_path: Path, own_home: Path) -> None:
    path = own_home / "cinch" / "config.toml"

    good = cinch("config", "edit", cwd=tmp_path, EDITOR="true")
    bad = cinch("config", "edit", cwd=tmp_path, EDITOR="sed -i 's/# theme/theme = 3 #/'")

    assert good.returncode == 0, good.stderr
    assert '# theme = "cinch-dark"' in path.read_text() or "theme = 3" in path.read_text()
    assert bad.returncode == 2
    assert "ui.theme must be text, not 3" in bad.stderr


def test_models_names_every_provider(tmp_path: Path) -> None:
    done = cinch("models", "--providers", cwd=tmp_path, OPENROUTER_API_KEY="sk-canary")

    assert {line.split()[0] for line in done.stdout.splitlines() if line} >= {
        "anthropic",
        "openrouter",
        "ollama",
        "demo",
    }
    assert "sk-canary" not in done.stdout


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    finished = subprocess.run(
        [sys.executable, "-m", "cinch_tui", "sessions", "list", "--all"],
        cwd=tmp_path,
        env={**os.environ, "CINCH_HOME": str(tmp_path / "home"), "PYTHONUNBUFFERED": "1"},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writer)

    assert (finished.returncode, finished.stderr) == (0, b"")
