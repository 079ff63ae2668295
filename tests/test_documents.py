from __future__ import annotations

import ast
import inspect
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.model_server import ModelServer, Reply

from harness.api import WHERE
from harness.ports.provider import Model

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)(?:#[\w-]+)?\)")
ANSWER = "__structured_output"
READ = Reply(calls=[("read_file", {"path": "test_login.py"})])
EDIT = ("edit_file", {"path": "test_login.py", "old_string": "== 2", "new_string": "== 1"})

SCRIPTS = {
    "Why does test_login fail?": [READ, "It compares with 2."],
    "Fix it, and commit.": [READ, Reply(calls=[EDIT, ("bash", {"command": "git commit -a"})]), "Fixed."],
    "Add a comment, and push.": [
        Reply(calls=[("delegate_subagent", {"task": "Push it."})]),
        "Not pushed.",
    ],
    "Push it.": [Reply(calls=[("bash", {"command": "git push"})]), "I may not."],
    "How is the weather in Oslo?": [Reply(calls=[("weather", {"city": "Oslo"})]), "It rains."],
    "Which test fails, and why?": [
        Reply(calls=[(ANSWER, {"test": "test_login"})]),
        Reply(calls=[(ANSWER, {"test": "test_login", "reason": "2"})]),
    ],
    "Install the missing package.": [Reply(calls=[("bash", {"command": "sudo apt install x"})]), "I may not."],
    "Which answer is best?": ["2: it is severe."],
}


class Script:
    """Script for each prompt; answers the last known prompt of a request, and others with a fixed reply."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._left = {prompt: iter(script) for prompt, script in SCRIPTS.items()}

    def __call__(self, body: dict[str, Any]) -> Reply:
        request = json.dumps(body["messages"], ensure_ascii=False)
        prompt = max(self._left, key=request.rfind)
        if request.rfind(prompt) < 0:
            return Reply("Fine.")
        self.asked.append(prompt)
        reply = next(self._left[prompt], "Fine.")
        return reply if isinstance(reply, Reply) else Reply(reply)


def blocks(name: str) -> Iterator[Any]:
    """Yield the Python blocks of a document, compiled with the line numbers of the document."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start(1))
        yield compile("\n" * line + found[1], name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create and enter the folder of a reader."""
    (tmp_path / "project").mkdir()
    for folder in (tmp_path, tmp_path / "project"):
        (folder / "test_login.py").write_text("def test_login():\n    assert 1 == 2\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "project"


async def run_all(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Script]:
    """Run all blocks of a document in order, with scripted models; return its names and the script."""
    script, names = Script(), {"__name__": "__main__"}
    with ModelServer(script) as server:
        for service, url in (("ANTHROPIC", server.url), ("OPENAI", server.openai_url)):
            monkeypatch.setenv(f"{service}_BASE_URL", url)
            monkeypatch.setenv(f"{service}_API_KEY", "none")
        for code in blocks(name):
            running = eval(code, names)
            if inspect.isawaitable(running):
                await running
        for each in names.values():
            if isinstance(each, Model):
                await each.provider.close()
    return names, script


async def test_embedding_guide_code_runs(project: Path, monkeypatch, capsys):
    names, script = await run_all("docs/embedding.md", monkeypatch)

    printed = capsys.readouterr().out
    assert set(SCRIPTS) - set(script.asked) == {"Install the missing package."}
    assert "It compares with 2." in printed
    assert (project / "test_login.py").read_text(encoding="utf-8").endswith("assert 1 == 1\n")
    assert names["verdict"].test == "test_login"
    assert names["chosen"].selected_index == 1
    assert "['completed']" in printed


async def test_readme_code_runs(project: Path, monkeypatch, capsys):
    await run_all("README.md", monkeypatch)

    assert capsys.readouterr().out == "It compares with 2.\n"


async def test_hooks_guide_code_runs(project: Path, monkeypatch, capsys):
    names, script = await run_all("docs/hooks-and-policies.md", monkeypatch)

    assert script.asked == ["Install the missing package."] * 2
    assert names["result"].rejection == "no passwords, please"


@pytest.mark.parametrize("path", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda path: path.name)
def test_links_have_targets(path: Path):
    links = [link for link in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("name", ["embedding.md", "hooks-and-policies.md"])
def test_every_name_in_the_prose_can_be_imported(name: str):
    prose = BLOCK.sub("", (ROOT / "docs" / name).read_text(encoding="utf-8"))
    named = set(re.findall(r"`([A-Z][a-z]\w+)\b", prose))

    assert named - set(WHERE) <= {"False", "Literal", "TaskGroup"}


def test_every_test_named_as_proof_exists():
    text = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("criteria.md", "permissions.md"))
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", text)
    there = {
        (path, node.name)
        for path in {path for path, _ in named}
        for node in ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(named) > 100
    assert set(named) - there == set()


def test_every_benchmark_that_is_named_exists():
    text = (ROOT / "docs" / "criteria.md").read_text(encoding="utf-8")

    assert all((ROOT / path).is_file() for path in re.findall(r"`(benchmarks/\w+\.py)`", text))


def test_every_image_exists_and_is_referenced():
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (document.parent / link).resolve()
        for document in documents
        for link in re.findall(r"!\[[^]]*\]\(([^)]+)\)", document.read_text(encoding="utf-8"))
    }

    assert shown == {path.resolve() for path in (ROOT / "docs" / "images").iterdir()}


def test_plain_mode_transcript_in_the_tour_is_current():
    pictures = runpy.run_path(str(ROOT / "docs" / "pictures.py"))
    page = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")

    assert pictures["with_lines"](page, pictures["by_lines"]()) == page, "run: python docs/pictures.py plain"


def test_every_image_is_drawn_by_the_app():
    drawn = re.findall(r'draw\(pilot, "(\w+)"\)', (ROOT / "docs" / "pictures.py").read_text(encoding="utf-8"))

    assert sorted(drawn) == sorted(path.stem for path in (ROOT / "docs" / "images").iterdir())
