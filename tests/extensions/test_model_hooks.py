"""Hooks of type `prompt`: questions to a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.runs import calls, results_of, texts_of
from fakes.user_hooks import HookedAgent, group

from extensions.hooks.model_hooks import MOST_EVENT_CHARS, HookModels
from harness.errors import ConfigError, ModelOverloaded
from harness.messages import ModelSpec, Usage, text_of
from harness.ports.provider import Model
from harness.user_requests import Denied
from providers.demo import Break, DemoProvider, Hang, Reply, scripted

LOOK = calls("bash", command="echo looked")


class AskedModels:
    """Models with one answer each, and what they were asked."""

    def __init__(self, *answers: Reply | str) -> None:
        self.names: list[str] = []
        self.used: list[Usage] = []
        self.models = HookModels(self._connect, self._count)
        self._answers = list(answers)
        self._providers: list[DemoProvider] = []

    @property
    def questions(self) -> list[str]:
        return [text_of(each.messages[0].content) for provider in self._providers for each in provider.requests]

    async def _connect(self, name: str) -> Model | None:
        self.names.append(name)
        if name == "unknown":
            raise ConfigError("there is no model unknown")
        if not self._answers:
            return None
        model = scripted(self._answers.pop(0))
        assert isinstance(model.provider, DemoProvider)
        self._providers.append(model.provider)
        return model

    def _count(self, spec: ModelSpec, usage: Usage) -> None:
        assert spec.name == "demo/script"
        self.used.append(usage)


def asking(prompt: str, **fields: Any) -> dict[str, Any]:
    return {"type": "prompt", "prompt": prompt, **fields}


async def test_model_decides_about_a_call(tmp_path: Path):
    asked = AskedModels('```json\n{"ok": false, "reason": "not\x1b[31m on\nFridays"}\n```', '{"ok": true}')
    hooks = {"PreToolUse": [group(asking("Fine? $ARGUMENTS", model="haiku"), matcher="Bash")]}
    hooked = HookedAgent(tmp_path, hooks, LOOK, LOOK, "ok", models=asked.models)

    await hooked.agent.prompt("go")

    assert [each.text.removeprefix("Exit code: 0\n") for each in results_of(hooked.agent)] == [
        "Blocked by a hook: not on\nFridays",
        "looked",
    ]
    event = json.loads(asked.questions[0].removeprefix("Fine? "))
    assert (event["tool_name"], event["tool_input"]["command"]) == ("Bash", "echo looked")
    assert asked.names == ["haiku"] * 2
    assert len(asked.used) == 2


async def test_model_allows_nothing_that_needs_approval(tmp_path: Path):
    asked = AskedModels('{"ok": true, "decision": "approve"}')
    hooked = HookedAgent(
        tmp_path, {"PreToolUse": [group(asking("?"))]}, calls("bash", command="touch made"), "ok", models=asked.models
    )
    hooked.user.approvals.append(Denied("no"))

    await hooked.agent.prompt("go")

    assert [each.summary for each in hooked.user.asked] == ["touch made"]


async def test_model_continues_a_run_that_would_end(tmp_path: Path):
    asked = AskedModels('{"ok": false, "reason": "run the tests"}', '{"ok": true}')
    hooked = HookedAgent(tmp_path, {"Stop": [group(asking("Are the tests green?"))]}, "a", "b", models=asked.models)

    result = await hooked.agent.prompt("go")

    assert (result.text, texts_of(hooked.agent)) == ("b", ["go", "[Stop hook]\nrun the tests"])
    # Without a place for the event, it follows the question.
    assert asked.questions[0].startswith("Are the tests green?\n\n{")
    assert '"last_assistant_message": "a"' in asked.questions[0]


@pytest.mark.parametrize(
    ("answers", "fields", "problem"),
    [
        (["It looks fine."], {}, "the model did not answer with"),
        (['{"ok": "yes"}'], {}, "the model did not answer with"),
        ([Reply((Break(ModelOverloaded("overloaded")),))], {}, "demo/script did not answer: "),
        ([Reply((Hang(),))], {"timeout": 0.05}, "timed out after 0.05 s"),
        ([], {}, "there is no model to ask"),
        ([], {"model": "unknown"}, "no model can be asked: there is no model unknown"),
    ],
)
async def test_failed_answer_decides_nothing_and_is_reported(
    tmp_path: Path, answers: list[Reply | str], fields: dict[str, Any], problem: str
):
    hooks = {"PreToolUse": [group(asking("Fine?", **fields))]}
    hooked = HookedAgent(tmp_path, hooks, LOOK, "ok", models=AskedModels(*answers).models)

    await hooked.agent.prompt("go")

    assert "looked" in results_of(hooked.agent)[0].text
    [notice] = hooked.notices
    assert notice.startswith(f"PreToolUse hook Fine?: {problem}")
    assert notice.endswith("It decided nothing.")


async def test_long_event_is_shortened(tmp_path: Path):
    asked = AskedModels('{"ok": true}')
    (tmp_path / "long.txt").write_text("x\n" * 300_000)
    script = calls("bash", command="head -c 400000 long.txt")
    hooked = HookedAgent(tmp_path, {"PostToolUse": [group(asking("?"))]}, script, "ok", models=asked.models)

    await hooked.agent.prompt("go")

    assert len(asked.questions[0]) < MOST_EVENT_CHARS + 100
    assert hooked.notices == []
