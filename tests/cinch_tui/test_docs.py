from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.main import main
from providers.preset import Preset, presets

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


TABLES = runpy.run_path(str(ROOT / "docs" / "tables.py"))


@pytest.mark.parametrize("page", TABLES["PAGES"], ids=lambda page: page.name)
def test_reference_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert "<!-- table: " in text
    assert TABLES["with_tables"](text) == text, "run: python docs/tables.py"


def flags_of_sessions(capsys: pytest.CaptureFixture[str]) -> set[str]:
    main(["sessions", "--help"])
    verbs = re.findall(r"^    ([a-z]+) ", capsys.readouterr().out, re.MULTILINE)
    for verb in verbs:
        main(["sessions", verb, "--help"])
    return set(re.findall(r"--[a-z-]+", capsys.readouterr().out))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_flag_exists(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(["--help"])
    of_subcommands = {"--all", "--json", "--providers", "--offline", "--mode"}
    main(["mcp", "--help"])
    main(["plugin", "--help"])
    of_examples = {"--demo", "--jinja", "--config", "--enable-auto-tool-choice", "--tool-call-parser", "--with"}
    of_the_scripted_model = {"--port", "--repeat"}
    of_benchmarks = {"--jobs", "--seed", "--edits", "--aider", "--opencode"}
    of_other_programs = {"--no-ext-diff", "--user", "--include"}  # git diff, systemd-run, grep
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) | of_subcommands | of_examples
    known |= of_the_scripted_model | of_benchmarks | of_other_programs | flags_of_sessions(capsys)

    named = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", page.read_text(encoding="utf-8")))

    assert named - known == set()


@pytest.mark.parametrize("preset", presets().values(), ids=lambda preset: preset.name)
def test_every_provider_has_a_quick_start(preset: Preset) -> None:
    page = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE)) + "".join(
        re.findall(r"`(cinch -m [^`]+)`", page)
    )

    assert f"cinch -m {preset.name}/{preset.default_model}" in blocks
    assert not preset.key_required or any(variable in page for variable in preset.variables)
