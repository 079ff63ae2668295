from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes.processes import is_alive
from fakes.runs import calls, results_of
from fakes.workplace import Workplace

from cinch_tui.changes import SessionChanges
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.errors import FileChanged
from harness.session.snapshots import Snapshots
from harness.views import DiffView, TextView
from providers.demo import Call, Reply, scripted
from tools import builtin_tools
from tools.apply_patch import ApplyPatchTool
from tools.edit import EditTool
from tools.formatting import FormatRule, Formatter, format_rules
from tools.read import ReadTool
from tools.write import WriteTool

UPPER = "import sys; p = sys.argv[1]; t = open(p).read(); open(p, 'w').write(t.upper())"


def rule(pattern: str, code: str) -> FormatRule:
    return FormatRule(pattern, (sys.executable, "-c", code, "{file}"))


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    (tmp_path / "project").mkdir()
    return Workplace(tmp_path / "project")


async def test_formatted_file_is_shown_reported_and_may_be_edited_at_once(place: Workplace):
    formatter = Formatter([rule("*.txt", UPPER)])
    name = "-x; touch evil $(touch evil) '.txt"

    made = await place.call(WriteTool([formatter]), path=name, content="ONE\ntwo\nTHREE\nFOUR\nfive\n")
    edited = await place.call(EditTool([formatter]), path=name, old_string="TWO", new_string="2")
    other = await place.call(WriteTool([formatter]), path="a.md", content="one\n")

    assert "the file now differs from what you wrote at lines 2, 5.\n2\tTWO\n5\tFIVE" in made.text
    assert isinstance(made.output.view, DiffView)
    assert made.output.view.new == "ONE\nTWO\nTHREE\nFOUR\nFIVE\n"
    assert "formatted by" in made.output.view.notes
    assert not made.output.view.problems
    assert not edited.output.is_error
    assert "formatted" not in edited.text
    assert "formatted" not in other.text
    assert sorted(each.name for each in place.root.iterdir()) == sorted([name, "a.md"])


async def test_patch_of_several_files_shows_what_the_formatter_changed(place: Workplace):
    patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Add File: b.txt\n+TWO\n*** End Patch\n"

    made = await place.call(ApplyPatchTool([Formatter([rule("*.txt", UPPER)])]), patch=patch)

    assert isinstance(made.output.view, TextView)
    assert "-one\n+ONE\n" in made.output.view.text
    assert "b.txt: formatted" not in made.text


async def test_failing_formatter_is_reported_and_leaves_the_edit(place: Workplace):
    code = "import sys; print(*(f'error {n}' for n in range(9)), sep='\\n', file=sys.stderr); sys.exit(3)"
    missing = FormatRule("*.txt", ("no-such-formatter", "{file}"))

    failed = await place.call(WriteTool([Formatter([rule("*.txt", code), missing])]), path="a.txt", content="one\n")

    assert not failed.output.is_error
    assert "failed with exit code 3:\nerror 0\nerror 1\nerror 2\nerror 3\nerror 4\n" in failed.text
    assert "error 5" not in failed.text
    assert "no-such-formatter cannot be started: No such file or directory" in failed.text
    assert isinstance(failed.output.view, DiffView)
    assert failed.output.view.problems in failed.text
    assert not failed.output.view.notes
    assert (place.root / "a.txt").read_text() == "one\n"


async def test_slow_formatter_is_stopped(place: Workplace):
    code = "import os, sys, time; open(sys.argv[1] + '.pid', 'w').write(str(os.getpid())); time.sleep(600)"

    late = await place.call(WriteTool([Formatter([rule("*.txt", code)], timeout_s=2)]), path="a.txt", content="one\n")

    assert "took longer than 2 s and was stopped" in late.text
    assert not is_alive(int((place.root / "a.txt.pid").read_text()))


async def test_formatter_that_deletes_the_file_is_reported(place: Workplace):
    gone = await place.call(
        WriteTool([Formatter([rule("*.txt", "import os, sys; os.remove(sys.argv[1])")])]), path="a.txt", content="x\n"
    )

    assert "the file cannot be read any more" in gone.text


async def test_many_formatted_lines_are_to_be_read(place: Workplace):
    made = await place.call(WriteTool([Formatter([rule("*.txt", UPPER)])]), path="a.txt", content="one\n" * 41)

    assert made.text.endswith("the file now differs from what you wrote at lines 1–41.")


async def test_other_files_that_a_formatter_changes_are_to_be_read_again(place: Workplace):
    place.put("b.txt", "b\n")
    place.put("c.txt", "c\n")
    for name in ("b.txt", "c.txt"):
        await place.call(ReadTool(), path=name)
    code = "import os, sys; open(os.path.join(os.path.dirname(sys.argv[1]), 'b.txt'), 'w').write('other\\n')"

    originals = Snapshots(lambda: place.root.parent / "kept")
    place.workspace.on_change(originals.observe)
    place.workspace.observers.on_past_change(originals.observe_past)

    made = await place.call(WriteTool([Formatter([rule("a.txt", code)])]), path="a.txt", content="one\n")

    assert made.text.endswith("it also changed b.txt, which must be read again.")
    changes = SessionChanges(originals, place.workspace, print).changes("session")
    assert [(each.shown, each.before, each.now) for each in changes] == [
        ("a.txt", None, b"one\n"),
        ("b.txt", b"b\n", b"other\n"),
    ]
    assert "c.txt" not in made.text
    with pytest.raises(FileChanged):
        await place.call(EditTool(), path="b.txt", old_string="b", new_string="c")


async def test_concurrent_edits_of_a_file_are_formatted_one_after_the_other(place: Workplace):
    place.put("a.txt", "ONE\nTWO\nTHREE\n")
    script = (
        calls("read_file", path="a.txt"),
        Reply(
            tuple(
                Call("edit_file", {"path": "a.txt", "old_string": old, "new_string": new})
                for old, new in (("ONE", "one!"), ("TWO", "two!"), ("THREE", "three!"))
            )
        ),
        "ok",
    )
    options = AgentOptions(workspace=place.workspace, approval="off", spill_dir=place.context.spill_dir)
    tools = builtin_tools(steps=[Formatter([rule("*.txt", UPPER)])])

    agent = Agent(scripted(*script), tools, options=options)
    await agent.prompt("go")

    assert [each.is_error for each in results_of(agent)] == [False] * 4
    assert (place.root / "a.txt").read_text() == "ONE!\nTWO!\nTHREE!\n"


async def test_formatters_do_not_see_secrets(place: Workplace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OWN_TOKEN", "hidden")
    hidden = ("OPENAI_API_KEY", "OWN_TOKEN")
    code = f"import os, sys; open(sys.argv[1], 'w').write(str([n for n in os.environ if n in {hidden}]))"
    formatter = Formatter([rule("*", code)], secrets=lambda: ["OWN_TOKEN"])

    await place.call(WriteTool([formatter]), path="a", content="x")

    assert (await place.call(ReadTool(), path="a")).lines[0] == "1\t[]"


@pytest.mark.parametrize(
    ("pattern", "path", "applies"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyi", False),
        ("src/*", "src/a.py", True),
        ("/src/*", "src/a.py", True),
        ("src/*", "lib/src/a.py", False),
        ("Makefile", "a/Makefile", True),
    ],
)
def test_pattern_selects_files_by_name_or_path(pattern: str, path: str, applies: bool):
    assert FormatRule(pattern, ("x", "{file}")).applies_to(path) is applies


def test_table_of_formatters_is_checked():
    rules, problems = format_rules(
        {"*.py": "ruff format {file}", "*.go": "", "*.c": "clang-format", "*.js": "prettier '{file}"}
    )

    assert rules == (FormatRule("*.py", ("ruff", "format", "{file}")),)
    assert len(problems) == 2
