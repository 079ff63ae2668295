import sys
from pathlib import Path
from subprocess import run

import pytest

from extensions.lifecycle.classification import Classification, classify
from extensions.lifecycle.task_types import LoadedTaskTypes, TaskType, keyword_pattern, load_task_types
from extensions.lifecycle.variables import RunFacts, run_values, system_values
from extensions.locations import Root
from harness.agent.limits import Limits

BUG_FIX = """
description = "Fix a defect"
keywords = ["bug", "crash*", "does not work"]
patterns = ['Error:', '^Traceback']
files = ["tests/*.py", "*.log"]
template = "Write a failing test on {{ git_branch }} first."
tools = ["read_file", "grep"]

[limits]
max_turns = 5
max_cost_usd = 0.5

[completion]
markers = ["TASK_COMPLETED"]
"""
QUERY = 'keywords = ["what", "why", "how"]\ntools = ["read_file"]\n'


def write(root: Path, name: str, text: str) -> Path:
    path = root / "tasks" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load(*folders: Path) -> LoadedTaskTypes:
    return load_task_types(Root(folder, "user") for folder in folders)


def test_all_keys_of_a_file_are_read(tmp_path: Path):
    write(tmp_path, "bug-fix", BUG_FIX)

    [task] = load(tmp_path).types

    assert (task.name, task.description, task.tools) == ("bug-fix", "Fix a defect", ("read_file", "grep"))
    assert task.limits == Limits(max_turns=5, max_cost=0.5)
    assert (task.markers, task.max_continuations) == (("TASK_COMPLETED",), 3)
    assert task.template is not None
    assert task.template.render({"git_branch": "main"}) == "Write a failing test on main first."


def test_first_root_with_a_name_counts(tmp_path: Path):
    for each in ("near", "far"):
        write(tmp_path / each, "query", f'description = "{each}"')

    assert [each.description for each in load(tmp_path / "near", tmp_path / "far").types] == ["near"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("keywords = [", "it is not valid TOML"),
        ("keyword = []", "Object contains unknown field `keyword`"),
        ("[limits]\nmax_turns = 'x'", "Expected `int`, got `str` - at `limits.max_turns`"),
        ("patterns = ['(']", "the regular expression '(' is not valid"),
        ("template = '{{ branch }}'", "the unknown variable 'branch'; did you mean 'git_branch'?"),
    ],
)
def test_invalid_file_is_skipped_with_a_reason(tmp_path: Path, text: str, reason: str):
    path = write(tmp_path, "bad", text)

    loaded = load(tmp_path)

    assert loaded.types == ()
    assert loaded.problems[0].startswith(f"{path} is skipped: ")
    assert reason in loaded.problems[0]


@pytest.mark.parametrize(
    ("prompt", "name", "reason"),
    [
        ("It crashes at the start", "bug-fix", "matches crashes"),
        ("This does  not\nwork.", "bug-fix", "matches does not work"),
        ("See build/out.log and `tests/test_app.py`", "bug-fix", "matches tests/test_app.py, build/out.log"),
        ("What is a debugger?", "query", "matches What"),
        ("Why the Error: 5? There must be a bug", "bug-fix", "matches bug, Error:"),
        ("Add a button", None, None),
    ],
)
async def test_rules_choose_the_type_with_most_matches(
    tmp_path: Path, prompt: str, name: str | None, reason: str | None
):
    write(tmp_path, "bug-fix", BUG_FIX)
    write(tmp_path, "query", QUERY)

    found = await classify(prompt, load(tmp_path).types)

    assert (found and found.name, found and found.reason) == (name, reason)


class Saying:
    def __init__(self, answer: Classification | Exception | None) -> None:
        self._answer = answer

    async def classify(self, prompt: str, types: object) -> Classification | None:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize("useless", [None, ValueError("broken"), Classification("unknown")])
async def test_classifiers_are_asked_until_one_knows_the_type(useless: Classification | Exception | None):
    types = (TaskType("a"), TaskType("b"), TaskType("c", is_default=True))
    answer = Classification("b", "it says so")

    assert await classify("x", types, [Saying(useless), Saying(answer)]) == answer
    assert await classify("x", types, [Saying(useless)]) == Classification("c", "the default type")


def test_keyword_is_a_whole_word():
    assert keyword_pattern("bug").search("debug bugs") is None
    assert keyword_pattern("bug*").search("Bugs")
    assert keyword_pattern("C++").search("write c++ now")


def test_variables_describe_system_project_and_run(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "pyproject.toml").touch()

    values = system_values(tmp_path, {"SHELL": "/bin/zsh"})

    assert (values["shell"], values["git_branch"], values["languages"]) == ("zsh", "feature/x", ("Python",))
    assert (values["cwd"], values["project"]) == (str(tmp_path), tmp_path.name)
    assert run_values(RunFacts("p" * 30_000, "query", "demo/x", ()))["prompt"] == "p" * 20_000


def test_plain_task_types_load_no_template_engine(tmp_path: Path):
    write(tmp_path, "query", f"{QUERY}template = 'Do not change files.'")
    code = (
        "import sys; from pathlib import Path; from extensions.locations import Root\n"
        "from extensions.lifecycle.task_types import load_task_types\n"
        f"task, = load_task_types([Root(Path({str(tmp_path)!r}), 'user')]).types\n"
        "assert task.template.render({}) and 'jinja2' not in sys.modules"
    )

    assert run([sys.executable, "-c", code], check=False).returncode == 0
