from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from fakes.contexts import tool_context
from fakes.model_server import Failure, ModelServer, Reply

from cinch_tui.assembly.assembly import Assembly
from cinch_tui.assembly.building import assemble
from cinch_tui.cli.start import config_sources
from cinch_tui.config.names import build
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.setting import Value
from cinch_tui.script_files import ScriptTools
from harness.agent.options import Subagents
from harness.agent.policies import LoopDetection
from harness.context.policy import ContextPolicy
from harness.events import AgentEnd, Event, ModelFallback
from harness.execution.context import Execution
from harness.messages import text_of
from harness.ports.interaction import NonInteractive
from harness.ports.provider import NO_CACHE, CacheStrategy


def assembled(folder: Path, values: dict[str, Value]) -> Assembly:
    paths = find_paths(os.environ)
    sources = config_sources(paths, folder)
    options = Options(cwd=folder, paths=paths, environ=os.environ, sources=sources, keep_session=False)
    settings = build({"model.name": "anthropic/main", "retry.max_retries": 0, **values})
    return asyncio.run(assemble(options, settings, NonInteractive()))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-not-a-key")


def test_unset_options_use_the_defaults_of_the_harness(tmp_path: Path) -> None:
    options = assembled(tmp_path, {}).agent.options

    assert options.execution == Execution()
    assert options.subagents == Subagents()
    assert [type(hook) for hook in options.hooks] == [LoopDetection, ScriptTools]
    assert (options.steering_mode, options.steering, options.follow_up) == ("after_batch", "one", "one")


def test_settings_reach_the_agent(tmp_path: Path) -> None:
    options = assembled(
        tmp_path,
        {
            "tools.concurrency": "sequential",
            "tools.timeout_s": 9.0,
            "tools.max_result_chars": 500,
            "tools.cache_entries": 7,
            "tools.cache_ttl_turns": 3,
            "steering.mode": "interrupt",
            "steering.queue": "all",
            "steering.follow_up": "all",
            "subagents.max_depth": 1,
            "subagents.max_concurrent": 2,
            "subagents.max_turns": 4,
            "subagents.max_tokens": 5_000,
            "subagents.result_chars": 60,
        },
    ).agent.options

    assert options.execution == Execution("sequential", 9.0, {}, 500, 7, 3)
    assert options.subagents == Subagents(1, 2, 4, 60, 5_000)
    assert (options.steering_mode, options.steering, options.follow_up) == ("interrupt", "all", "all")


@pytest.mark.parametrize(
    ("values", "meant"),
    [
        ({}, CacheStrategy()),
        ({"prompt_cache.lifetime": "1h", "prompt_cache.tools": False}, CacheStrategy(lifetime="1h")),
        ({"prompt_cache.strategy": "off", "prompt_cache.lifetime": "1h"}, NO_CACHE),
        (
            {"prompt_cache.strategy": "manual", "prompt_cache.tools": False, "prompt_cache.lifetime": "1h"},
            CacheStrategy(tools=False, lifetime="1h"),
        ),
    ],
)
def test_prompt_cache_follows_the_settings(tmp_path: Path, values: dict[str, Value], meant: CacheStrategy) -> None:
    assert assembled(tmp_path, values).agent.options.cache == meant


@pytest.mark.parametrize(("concurrency", "meant"), [("parallel", 3), ("sequential", "sequential")])
def test_calls_run_in_batches_of_a_size(tmp_path: Path, concurrency: str, meant: int | str) -> None:
    agent = assembled(tmp_path, {"tools.concurrency": concurrency, "tools.batch_size": 3}).agent

    assert agent.options.execution.concurrency == meant


def test_without_subagents_the_prompt_does_not_mention_them(tmp_path: Path) -> None:
    agent = assembled(tmp_path, {"subagents.max_depth": 0}).agent

    assert "delegate_subagent" not in [tool.name for tool in agent.state.tools]


def test_the_next_model_answers_after_a_permanent_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([Failure(404), Failure(404), Reply("Here I am.")]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        agent = assembled(tmp_path, {"providers.fallback": ("anthropic/second", "anthropic/third")}).agent
        events: list[Event] = []
        agent.subscribe(events.append)
        result = agent.prompt_sync("Hello?")

    reported = [event for event in events if isinstance(event, ModelFallback | AgentEnd)]
    assert [type(event) for event in reported] == [ModelFallback, ModelFallback, AgentEnd]
    assert result.text == "Here I am."
    assert [request.body["model"] for request in server.requests] == ["main", "second", "third"]


def test_an_unavailable_fallback_model_is_reported(tmp_path: Path) -> None:
    assembly = assembled(tmp_path, {"providers.fallback": ("antropic/x", "anthropic/second")})

    assert [model.spec.name for model in assembly.agent.options.fallback] == ["anthropic/second"]
    assert [warning.partition(": ")[0] for warning in assembly.warnings] == ["providers.fallback"]


@pytest.mark.parametrize(("level", "lines"), [("off", 301), ("minimal", 6), ("aggressive", 6)])
def test_output_of_commands_is_compressed_as_the_settings_say(tmp_path: Path, level: str, lines: int) -> None:
    (tmp_path / "run.sh").write_text("for i in $(seq 1 300); do echo processed item $i; done")
    tools = assembled(tmp_path, {"tools.bash.compression": level}).agent.state.tools
    bash = next(tool for tool in tools if tool.name == "bash")

    output = asyncio.run(bash.run(bash.validate({"command": "bash run.sh"}), tool_context(tmp_path)))

    assert text_of(output.content).count("\n") + 1 == lines


def test_context_settings_are_the_policy_of_the_agent(tmp_path: Path) -> None:
    changed: dict[str, Value] = {"context.evict_at": 0.5, "context.reserve": 9_000, "context.compact_at": 0.0}

    assert assembled(tmp_path, {}).agent.options.window == ContextPolicy()
    assert assembled(tmp_path, changed).agent.options.window == ContextPolicy(
        evict_at=0.5, reserve=9_000, compact_at=0.0
    )


@pytest.mark.parametrize(("name", "model"), [("anthropic/small", "anthropic/small"), ("antropic/small", None)])
def test_model_of_summaries_is_reported_if_it_is_not_available(tmp_path: Path, name: str, model: str | None) -> None:
    assembly = assembled(tmp_path, {"context.model": name})

    summarizer = assembly.agent.options.compact_model
    assert (summarizer.spec.name if summarizer else None) == model
    assert [warning.partition(": ")[0] for warning in assembly.warnings] == ([] if model else ["context.model"])


@pytest.mark.parametrize(
    ("values", "model", "offered"),
    [
        ({}, "openai/gpt-5", {"apply_patch"}),
        ({}, "anthropic/main", {"edit_file", "write_file"}),
        ({"tools.dialect": ("cinch",)}, "openai/gpt-5", {"edit_file", "write_file"}),
        ({"tools.dialect": ("codex",)}, "anthropic/main", {"apply_patch"}),
        ({"tools.disabled": ("apply_patch",)}, "openai/gpt-5", {"edit_file", "write_file"}),
        ({"tools.disabled": ("write_file",)}, "openai/gpt-5", {"edit_file"}),
        ({"tools.enabled": ("read_file", "edit_file")}, "openai/gpt-5", {"edit_file"}),
        ({"tools.enabled": ("*_file",)}, "openai/gpt-5", {"apply_patch"}),
        ({"tools.enabled": ("apply_patch",)}, "anthropic/main", {"apply_patch", "edit_file", "write_file"}),
        (
            {"tools.enabled": ("apply_patch",), "tools.disabled": ("edit_file", "write_file")},
            "anthropic/main",
            {"apply_patch"},
        ),
        ({"tools.dialect": ("claude",)}, "openai/gpt-5", {"edit_file", "write_file"}),
        ({"tools.dialect": ("cats",)}, "openai/gpt-5", set()),
    ],
)
def test_tools_for_edits_are_those_that_the_model_is_trained_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Value], model: str, offered: set[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")

    state = assembled(tmp_path, {"model.name": model, **values}).agent.state

    names = {tool.name for tool in state.available_tools}
    assert names & {"apply_patch", "edit_file", "write_file"} == offered
