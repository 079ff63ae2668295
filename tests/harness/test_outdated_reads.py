"""Reads that later calls make out of date, whichever tool changed the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.context.eviction import candidates_for_eviction
from harness.context.policy import ContextPolicy
from harness.context.summary_facts import facts_of
from harness.messages import JsonObject, ToolResult
from providers.demo import Call, Reply
from tools import builtin_tools
from tools.dialects.cats.tools import cats_tools

TEXT = "".join(f"line {number}\n" for number in range(60))
NOTEBOOK = '{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "source": ["%s"]}]}'
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-line 3\n+line three\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "outdated"),
    [
        ("edit_file", {"path": "src/a.py", "old_string": "line 3\n", "new_string": "x\n"}, {"src/a.py"}),
        ("apply_patch", {"patch": PATCH}, {"src/a.py"}),
        ("move_file", {"source": "src/a.py", "destination": "c.py"}, {"src/a.py"}),
        ("move_file", {"source": "src", "destination": "lib"}, {"src/a.py"}),
        ("copy_file", {"source": "src/a.py", "destination": "b.py", "overwrite": True}, {"b.py"}),
        ("delete_file", {"path": "./b.py"}, {"b.py"}),
        ("notebook_edit", {"path": "n.ipynb", "cell_id": "a", "new_source": "y"}, {"n.ipynb"}),
        ("bash", {"command": "echo x > b.py"}, {"b.py"}),
        ("bash", {"command": "cat b.py"}, set()),
        ("delete_text", {"path": "b.py", "text_to_delete": "line 3\n"}, {"b.py"}),
        ("edit_file", {"path": "b.py", "old_string": "missing", "new_string": "x"}, set()),
    ],
)
async def test_read_is_out_of_date_once_a_call_changed_its_file(
    make_agent, tmp_path: Path, name: str, arguments: JsonObject, outdated: set[str]
):
    (tmp_path / "src").mkdir()
    for path in ("src/a.py", "b.py"):
        (tmp_path / path).write_text(TEXT)
    (tmp_path / "n.ipynb").write_text(NOTEBOOK % ("x" * 400))
    paths = ["src/a.py", "b.py", "n.ipynb"]
    tools = [*builtin_tools(optional=["apply_patch"]), *(each for each in cats_tools() if each.name == "delete_text")]
    reads = [Reply((Call("read_file", {"path": path}),)) for path in paths]
    script = [*reads, Reply((Call(name, arguments),)), "done"]
    agent = make_agent(*script, tools=tools, approval="off")

    await agent.prompt("go")

    found = candidates_for_eviction(agent.messages, ContextPolicy(evict_min_age=0), frozenset())
    superseded = {each.id for each in found if each.rank[0]}
    read = {each.id: path for each, path in zip(_results(agent.messages), paths, strict=False)}
    assert {path for id_, path in read.items() if id_ in superseded} == outdated
    assert set(facts_of(agent.messages).edited) >= outdated - {"src/a.py"}


def _results(messages) -> list[ToolResult]:
    return [each for each in messages if isinstance(each, ToolResult)]
