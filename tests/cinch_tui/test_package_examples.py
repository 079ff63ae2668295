from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.model_server import ModelServer, Reply
from fakes.provider_packages import ROOT, cinch, install, installed

from cinch_tui.config.paths import find_paths

KINDS = ("tool", "command", "hook", "theme", "evaluator", "task-classifier")
CHOOSE = """
import asyncio
from harness import Agent, ParallelVariant, run_parallel
from providers.demo import scripted
long, short = (ParallelVariant(scripted(text)) for text in ("It is the disk, I suppose.", "The disk."))
chosen = asyncio.run(run_parallel(Agent(scripted()), "Why?", [long, short], "shortest"))
print(chosen.selected_index, chosen.reason)
"""
THEME = """
import asyncio
from cinch_tui.app.app import CinchApp
from cinch_tui.cli.arguments import parse_arguments
from cinch_tui.cli.start import prepare
async def main():
    app = CinchApp(*prepare(parse_arguments(["-m", "demo/tour"])))
    async with app.run_test():
        print(app.theme, app.current_theme.background)
asyncio.run(main())
"""
# Group, code, name of the entry point's object, and the reason in the sentence.
BROKEN = {
    "absent": ("tools", "import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
    "number": ("tools", "number = 3\n", "3 in tools is not a tool"),
    "untyped": ("tools", "def untyped(x): pass\n", "x has no type hint"),
    "grep": ("tools", "def grep(text: str) -> str: return text\n", "another tool is named 'grep'"),
    "half": (
        "tools",
        "class Half:\n    name = 'half'\n    def run(self): ...\n    def validate(self): ...\nhalf = Half()\n",
        "the tool 'half' (Half) has no method summary",
    ),
    "factory": ("hooks", "def factory(): return 1 / 0\n", "ZeroDivisionError: division by zero"),
    "other": ("hooks", "class other: pass\n", "expected Hooks, not other"),
    "lost": ("themes", "lost = '/no/such.toml'\n", "No such file or directory"),
    "mono-white": ("themes", "theme = {}\n", "cinch has a theme of that name"),
    "first": ("evaluators", "first = 1\n", "cinch has an evaluator of that name"),
    "mute": ("evaluators", "mute = object()\n", "expected a Strategy, not object: it has no method choose"),
    "title": ("commands", "title = 'x'\n", "expected a CommandGroup, not str"),
    "quiet": ("task_classifiers", "quiet = print\n", "it has no method classify"),
    "quits": ("providers", "raise SystemExit('bye')\n", "SystemExit: bye"),
}
HOOK = """
from harness import Hooks, Inject
class hook(Hooks):
    async def after_tool(self, call, result): return Inject("from the good hook")
"""


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory, "examples", [ROOT / "examples" / f"{kind}-package" for kind in KINDS])


def python(code: str, packages: Path, **variables: str) -> str:
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environ = {**os.environ, **terminal, "PYTHONPATH": f"{packages}:{ROOT}", **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tools_hook_and_classifier_of_packages_take_part_in_a_run(examples: Path, tmp_path: Path):
    home = {"CINCH_HOME": str(tmp_path / "home")}
    tasks = find_paths(home).config / "tasks"
    tasks.mkdir(parents=True)
    (tasks / "question.toml").write_text('description = "A question"\ntemplate = "Be brief."\n')
    calls = [
        ("working_days", {"start": "2027-05-01", "end": "2027-05-31"}),
        ("bash", {"command": "git push origin main"}),
    ]
    with ModelServer([Reply(calls=calls), Reply("21.")]) as server:
        done = cinch(
            *("-p", "How many?", "-m", "openai-chat/m", "--base-url", server.openai_url, "--allow", "bash"),
            cwd=tmp_path,
            installed=examples,
            **home,
        )

    first, second = (request.body for request in server.requests)
    assert done.stdout == "21.\n", done.stderr
    assert {"weekday", "working_days"} <= {each["function"]["name"] for each in first["tools"]}
    assert [each["content"] for each in second["messages"] if each["role"] == "tool"] == [
        "21",
        "Error: Push a branch and open a pull request instead.",
    ]
    assert "Task type: question (ends with ?)" in json.dumps(first["messages"])


def test_command_of_a_package_runs(examples: Path, tmp_path: Path):
    (tmp_path / "app.py").write_text("# TODO: write it\n")
    subprocess.run("git init -q . && git add app.py", shell=True, check=True, cwd=tmp_path)

    with ModelServer([]) as server:
        start = ("--plain", "-m", "openai-chat/m", "--base-url", server.openai_url)
        done = cinch(*start, cwd=tmp_path, installed=examples, typed="/todos\n", OPENAI_API_KEY="none")

    assert "app.py:1:# TODO: write it" in done.stdout


def test_app_starts_with_the_theme_of_a_package(examples: Path):
    assert python(THEME, examples, CINCH_UI_THEME="dusk") == "dusk #14101c\n"


def test_evaluator_of_a_package_chooses_an_answer(examples: Path):
    assert python(CHOOSE, examples) == "1 the shortest: 9 characters\n"


def test_disabled_package_is_not_used(examples: Path, tmp_path: Path):
    disabled = {"CINCH_EXTENSIONS_DISABLED_PACKAGES": "cinch_dates, Cinch-Dusk"}

    with ModelServer([Reply("Yes.")]) as server:
        start = ("-p", "Hi", "-m", "openai-chat/m", "--base-url", server.openai_url)
        cinch(*start, cwd=tmp_path, installed=examples, **disabled)
    checked = cinch("doctor", "--offline", cwd=tmp_path, installed=examples, **disabled).stdout

    assert "weekday" not in json.dumps(server.requests[0].body["tools"])
    assert "cinch-shortest 1.0.0: evaluator shortest" in checked
    assert "cinch-dates" not in checked
    assert "cinch-dusk" not in checked


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    for name, (group, code, _) in BROKEN.items():
        entry = f"{name}_package:theme" if name == "mono-white" else ""
        install(folder, name, code, group=f"cinch.{group}", entry=entry.replace("-", "_"))
    return install(folder, "guard", HOOK, group="cinch.hooks", entry="guard_package:hook")


@pytest.fixture(scope="module")
def report(broken: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    done = cinch("doctor", "--offline", "--json", cwd=tmp_path_factory.mktemp("project"), installed=broken)
    return [each["message"] for each in json.loads(done.stdout)["findings"] if each["subject"] == "packages"]


@pytest.mark.parametrize("name", BROKEN)
def test_broken_object_of_a_package_is_reported_in_a_sentence(name: str, report: list[str]):
    group, _, why = BROKEN[name]
    kind = group.removesuffix("s").replace("_", " ")

    (sentence,) = [each for each in report if each.startswith(f"the {kind} {name!r} of the package ")]

    assert sentence.startswith(f"the {kind} {name!r} of the package {name}-package 1.2 cannot be used: ")
    assert why in sentence
    assert sentence.endswith(f"; update the package, or remove it: pip uninstall {name}-package")


def test_broken_tools_hooks_and_commands_are_reported_at_the_start_and_others_work(broken: Path, tmp_path: Path):
    with ModelServer([Reply(calls=[("list_files", {})]), Reply("Done.")]) as server_of_run:
        start = ("-m", "openai-chat/m", "--base-url", server_of_run.openai_url)
        done = cinch("-p", "Hi", *start, cwd=tmp_path, installed=broken)
    with ModelServer([]) as server:
        start = ("-m", "openai-chat/m", "--base-url", server.openai_url)
        plain = cinch("--plain", *start, cwd=tmp_path, installed=broken, typed="", OPENAI_API_KEY="none")

    reported = [name for name in BROKEN if f"{name!r} of the package" in done.stderr]
    assert reported == [name for name, (group, *_) in BROKEN.items() if group in ("tools", "hooks")]
    assert done.stdout == "Done.\n"
    assert "from the good hook" in json.dumps(server_of_run.requests[1].body["messages"])
    assert "the command 'title' of the package" in plain.stdout.replace("\n", " ")


def test_tool_of_a_package_with_a_name_of_the_dialect_is_reported(tmp_path: Path):
    code = "def goto(place: str) -> str:\n    'Goes there.'\n    return place\n"
    installed = install(tmp_path / "packages", "goto", code, group="cinch.tools")

    with ModelServer([Reply("Done.")]) as server:
        start = ("-p", "Hi", "-m", "openai-chat/m", "--base-url", server.openai_url)
        done = cinch(*start, cwd=tmp_path, installed=installed, CINCH_TOOLS_DIALECT="cats")

    assert done.stdout == "Done.\n", done.stderr
    assert "another tool is named 'goto'" in done.stderr


def test_app_with_a_broken_theme_starts_with_another_and_says_why(broken: Path):
    code = THEME.replace("print(app.theme, app.current_theme.background)", "print(app.theme, app._options.notices)")

    shown = python(code, broken, CINCH_UI_THEME="lost")

    assert shown.startswith("cinch-")
    assert "the theme 'lost' of the package lost-package 1.2 cannot be used: FileNotFoundError" in shown
