from __future__ import annotations

from pathlib import Path

import pytest
from fakes.family import cast, delegates
from fakes.runs import calls, results_of

from harness.approval.matching import Coverage, Target, affects
from harness.approval.places import Places
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.messages import JsonObject, ToolResult
from harness.parallel.run import run_parallel
from harness.parallel.variant import ParallelVariant
from providers.demo import Call, Reply, scripted
from tools.delegate import DelegateTool
from tools.dialects.cats.tools import cats_tools

LONG = "".join(f"line {number}\n" for number in range(1, 2_501))


@pytest.fixture
def ask(make_agent, tmp_path: Path):
    """Return a function that runs calls one reply after another, and returns the texts of their results."""
    (tmp_path / "long.txt").write_text(LONG)
    (tmp_path / "a.py").write_text("x = 1\ny = 1\nz = 1\n")

    async def run(*calls: tuple[str, JsonObject]) -> list[str]:
        agent = make_agent(*[Reply((Call(*call),)) for call in calls], "done", tools=cats_tools(), approval="off")
        await agent.prompt("go")
        return [each.text for each in results_of(agent)]

    return run


async def test_window_moves_within_the_open_file(ask):
    texts = await ask(
        ("goto", {"line_number": 5}),
        ("open", {"path": "long.txt"}),
        ("scroll_up", {}),
        ("scroll_down", {}),
        ("scroll_down", {}),
        ("scroll_down", {}),
        ("goto", {"line_number": 900}),
        ("goto", {"line_number": 9_000}),
        ("open", {"path": "long.txt", "line_number": 9_000}),
        ("_state", {}),
    )

    assert texts[0] == "No file is open. Use open first."
    heads = [text.split("\n")[0] for text in texts]
    assert heads[1] == "[long.txt, lines 1-1000 of 2500]"
    assert "   1 | line 1" in texts[1]
    assert heads[2] == "The window is already at the beginning of the file."
    assert heads[3] == "[long.txt, lines 1001-2000 of 2500]"
    assert heads[4] == "[long.txt, lines 1501-2500 of 2500]"
    assert heads[5] == "The window is already at the end of the file."
    assert heads[6] == "[long.txt, lines 400-1399 of 2500]"
    assert "past the end" in heads[7]
    assert heads[8].startswith("Warning: line 9000 is past the end")
    assert "open file: long.txt" in texts[9]


async def test_window_shows_the_file_as_it_is_now(ask, tmp_path: Path):
    texts = await ask(
        ("open", {"path": "a.py"}),
        ("run_command", {"command": "echo 'w = 2' > a.py"}),
        ("scroll_down", {}),
    )

    assert "   1 | w = 2" in texts[2]


async def test_text_that_occurs_several_times_needs_an_occurrence(ask, tmp_path: Path):
    texts = await ask(
        ("open", {"path": "a.py"}),
        ("replace_text", {"path": "a.py", "old_text": "= 1", "new_text": "= 2"}),
        ("replace_text", {"path": "a.py", "old_text": "= 1", "new_text": "= 2", "occurrence": 4}),
        ("replace_text", {"path": "a.py", "old_text": "= 1", "new_text": "= 2", "occurrence": 2}),
        ("delete_text", {"path": "a.py", "text_to_delete": "z = 1\n"}),
        ("replace_text", {"path": "a.py", "old_text": "q = 1", "new_text": "q"}),
    )

    assert texts[1] == "a.py: the text occurs 3 times; give the occurrence, from 1:\n1: x = 1\n2: y = 1\n3: z = 1"
    assert texts[2] == "a.py: there is no occurrence 4; the text occurs 3 times."
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 2\n"
    assert "does not occur in the file" in texts[5]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"line_number": 1, "text": "new"}, "x\nnew\ny"),
        ({"line_number": 1, "text": "new\n", "position": "before_line"}, "new\nx\ny"),
        ({"line_number": 3, "text": "new", "position": "before_line"}, "x\ny\nnew\n"),
        ({"line_number": 1, "text": "new", "position": "at_end"}, "x\ny\nnew\n"),
        ({"line_number": 9, "text": "new"}, "x\ny"),
    ],
    ids=["after", "before", "past the last line", "at the end", "too far"],
)
async def test_lines_are_inserted(ask, tmp_path: Path, arguments: JsonObject, expected: str):
    (tmp_path / "b.txt").write_text("x\ny")

    await ask(("open", {"path": "b.txt"}), ("insert_text", {"path": "b.txt", **arguments}))

    assert (tmp_path / "b.txt").read_text() == expected


async def test_lines_are_deleted_up_to_the_end_of_the_file(ask, tmp_path: Path):
    texts = await ask(
        ("open", {"path": "a.py"}),
        ("delete_line", {"path": "a.py", "start_line": 2, "end_line": 99}),
        ("delete_line", {"path": "a.py", "start_line": 5, "end_line": 6}),
    )

    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert texts[2] == "a.py: line 5 is past the end; the file has 1 lines."


async def test_create_file_never_overwrites_and_overwrite_file_never_creates(ask, tmp_path: Path):
    texts = await ask(
        ("create_file", {"path": "a.py", "content": "lost"}),
        ("overwrite_file", {"path": "missing.py", "content": "x"}),
        ("create_file", {"path": "new/b.py", "content": "b\n"}),
        ("open", {"path": "a.py"}),
        ("overwrite_file", {"path": "a.py", "content": "c\n"}),
    )

    assert texts[0] == "a.py exists already. Use overwrite_file."
    assert texts[1] == "missing.py does not exist. Use create_file."
    assert (tmp_path / "new/b.py").read_text() == "b\n"
    assert (tmp_path / "a.py").read_text() == "c\n"


async def test_paths_are_moved_copied_and_deleted(ask, tmp_path: Path):
    (tmp_path / "src").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/b.py").write_text("b = 1\n")
    texts = await ask(
        ("open", {"path": "a.py"}),
        ("move_path", {"source": "a.py", "destination": "new/c.py"}),
        ("_state", {}),
        ("replace_text", {"path": "new/c.py", "old_text": "x = 1", "new_text": "x = 2"}),
        ("copy_path", {"source": "lib", "destination": "lib2"}),
        ("copy_path", {"source": "lib", "destination": "lib2", "recursive": True}),
        ("delete_path", {"path": "lib"}),
        ("delete_path", {"path": "lib", "recursive": True}),
        ("delete_path", {"path": "src", "recursive": True}),
        ("create_directory", {"path": "x/y"}),
        ("create_directory", {"path": "x/y"}),
    )

    assert "open file: new/c.py" in texts[2]
    assert (tmp_path / "new/c.py").read_text().startswith("x = 2")
    assert "set recursive" in texts[4]
    assert (tmp_path / "lib2/b.py").exists()
    assert "is not empty" in texts[6]
    assert not (tmp_path / "lib").exists()
    assert "folders named src are kept" in texts[8]
    assert (tmp_path / "x/y").is_dir()
    assert texts[10] == "x/y exists already."


async def test_functions_are_mapped_and_deleted_by_name(ask, tmp_path: Path):
    code = "import a\n\n\n@cached\ndef one():\n    return 1\n\n\nclass C:\n    def two(self):\n        return 2\n"
    (tmp_path / "f.py").write_text(code)
    texts = await ask(
        ("filemap", {"file_path": "f.py"}),
        ("filemap", {"file_path": "."}),
        ("open", {"path": "f.py"}),
        ("delete_function", {"file_name": "f.py", "function_name": "one"}),
        ("delete_function", {"file_name": "f.py", "function_name": "three"}),
    )

    assert [line.strip() for line in texts[0].splitlines()] == [
        "5 | def one():",
        "9 | class C:",
        "10 |   def two(self):",
    ]
    assert "f.py" in texts[1]
    assert (tmp_path / "f.py").read_text() == "import a\n\n\n\n\nclass C:\n    def two(self):\n        return 2\n"
    assert "there is no function three; there are C.two (line" in texts[4]


async def test_searches_are_literal_and_use_the_open_file(ask, tmp_path: Path):
    (tmp_path / "c.txt").write_text("a+b\naab\n")
    texts = await ask(
        ("search_file", {"search_term": "a+b"}),
        ("open", {"path": "c.txt"}),
        ("search_file", {"search_term": "a+b"}),
        ("search_dir", {"search_term": "a+b"}),
        ("find_file", {"file_name": "*.py"}),
    )

    assert texts[0] == "No file is open. Give the file, or use open first."
    assert "1: a+b" in texts[2]
    assert "aab" not in texts[2]
    assert "c.txt" in texts[3]
    assert "a.py" in texts[4]


async def test_tokens_are_counted_and_submit_ends_the_run(ask):
    texts = await ask(
        ("count_tokens", {"content": "x" * 400}),
        ("count_tokens", {}),
        ("submit", {}),
        ("count_tokens", {"content": "never"}),
    )

    assert texts[0].startswith("About 1")
    assert "give file_path or content" in texts[1]
    assert texts[2:] == ["The task is submitted."]


async def test_rules_for_edit_file_cover_the_edits_of_the_dialect(make_agent, tmp_path: Path):
    (tmp_path / "a.py").write_text("x\n")
    rules = RuleStore(rules=[parse_rule("edit_file(secret/**)", "deny"), parse_rule("bash(rm:*)", "deny")])
    calls = [
        ("create_file", {"path": "b.py", "content": "x"}),
        ("create_file", {"path": "secret/b.py", "content": "x"}),
    ]
    calls += [
        ("run_command", {"command": "rm a.py"}),
        ("replace_text", {"path": "secret/x", "old_text": "a", "new_text": "b"}),
    ]
    agent = make_agent(
        *[Reply((Call(*call),)) for call in calls], "done", tools=cats_tools(), approval="off", grants=rules
    )

    await agent.prompt("go")

    results = results_of(agent)
    assert [each.is_error for each in results] == [False, False, True, True]
    assert "denied" in results[2].text
    assert "denied" in results[3].text
    assert (tmp_path / "a.py").exists()


@pytest.mark.parametrize(
    ("rule", "name", "arguments", "is_match"),
    [
        ("read_file(secret/**)", "open", {"path": "secret/a"}, True),
        ("read_file(secret/**)", "count_tokens", {"file_path": "secret/a"}, True),
        ("grep(secret/**)", "search_file", {"search_term": "x", "file": "secret/a"}, True),
        ("grep(secret/**)", "search_dir", {"search_term": "x", "dir": "secret"}, True),
        ("find_files(secret/**)", "find_file", {"file_name": "*", "dir": "secret"}, True),
        ("read_file(secret/**)", "filemap", {"file_path": "secret/a"}, True),
        ("delete_file(secret/**)", "delete_path", {"path": "secret/a"}, True),
        ("move_file(secret/**)", "move_path", {"source": "secret/a", "destination": "secret/b"}, True),
        ("copy_file(secret/**)", "copy_path", {"source": "secret/a", "destination": "secret/b"}, True),
        ("edit_file(secret/**)", "delete_text", {"path": "secret/a", "text_to_delete": "x"}, True),
        ("write_file(secret/**)", "create_file", {"path": "secret/a", "content": "x"}, True),
        ("run_command(rm:*)", "run_command", {"command": "rm -r x"}, True),
        ("run_command(test*)", "run_command", {"command": "python x.py tests"}, False),
    ],
)
def test_rules_for_the_tools_of_cinch_and_for_these_cover_their_calls(
    tmp_path: Path, rule: str, name: str, arguments: JsonObject, is_match: bool
):
    tool = next(each for each in cats_tools() if each.name == name)
    target = Target(name, tool.risk(tool.validate(arguments)), Places(tmp_path))

    assert bool(Coverage(target, [parse_rule(rule)]).find()) is is_match
    assert affects(parse_rule(rule, "deny"), target) is is_match


async def test_subagents_have_a_window_of_their_own(make_agent, tmp_path: Path):
    (tmp_path / "a.py").write_text("a\n")
    (tmp_path / "b.py").write_text("b\n")
    model = cast(
        {
            "go": [calls("open", path="a.py"), delegates("one", "two"), calls("_state"), "done"],
            "one": [calls("goto", line_number=1), calls("open", path="b.py"), calls("_state"), "one is done"],
            "two": [calls("_state"), calls("scroll_down"), "two is done"],
        }
    )
    agent = make_agent(model=model, tools=[*cats_tools(), DelegateTool()], approval="off")

    await agent.prompt("go")

    assert "open file: a.py" in results_of(agent)[-1].text
    requests = [each.messages for each in model.provider.requests]
    one = next(each for each in reversed(requests) if each[0].text == "one")
    two = next(each for each in reversed(requests) if each[0].text == "two")
    shown_one, shown_two = ([each.text for each in part if isinstance(each, ToolResult)] for part in (one, two))
    assert shown_one[0] == "No file is open. Use open first."
    assert "open file: b.py" in shown_one[2]
    assert "open file: none" in shown_two[0]
    assert shown_two[1] == "No file is open. Use open first."


async def test_parallel_variants_have_windows_of_their_own(make_agent, tmp_path: Path):
    (tmp_path / "a.py").write_text("a\n")
    (tmp_path / "b.py").write_text("b\n")
    agent = make_agent(calls("open", path="a.py"), "ok", calls("_state"), "done", tools=cats_tools(), approval="off")
    await agent.prompt("go")
    variants = [
        ParallelVariant(scripted(calls("_state"), calls("open", path="b.py"), "A")),
        ParallelVariant(scripted(calls("_state"), "B")),
    ]

    await run_parallel(agent, "hi", variants)
    await agent.prompt("go on")

    for variant in variants:
        last = variant.model.provider.requests[-1].messages
        state = next(each.text for each in last if isinstance(each, ToolResult) and each.tool_name == "_state")
        assert "open file: none" in state
    assert "open file: a.py" in results_of(agent)[-1].text
