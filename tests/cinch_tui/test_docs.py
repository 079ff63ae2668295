from __future__ import annotations

import re
import runpy
from contextlib import redirect_stdout, suppress
from functools import cache
from io import StringIO
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


@cache
def help_texts() -> str:
    """Return the help of cinch and of the subcommands with flags of their own."""
    with redirect_stdout(StringIO()) as printed:
        with suppress(SystemExit):
            parse_arguments(["--help"])
        main(["mcp", "--help"])
        main(["plugin", "--help"])
        main(["sessions", "--help"])
        for verb in re.findall(r"^    ([a-z]+) ", printed.getvalue(), re.MULTILINE):
            main(["sessions", verb, "--help"])
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_named_flag_exists(page: Path) -> None:
    of_subcommands = {"--all", "--json", "--providers", "--offline", "--mode"}
    of_examples = {"--demo", "--jinja", "--config", "--enable-auto-tool-choice", "--tool-call-parser", "--with"}
    of_the_scripted_model = {"--port", "--repeat"}
    of_benchmarks = {"--jobs", "--seed", "--edits", "--aider", "--opencode"}
    of_other_programs = {"--no-ext-diff", "--user", "--include"}  # git diff, systemd-run, grep
    known = set(re.findall(r"--[a-z-]+", help_texts())) | of_subcommands | of_examples
    known |= of_the_scripted_model | of_benchmarks | of_other_programs

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
