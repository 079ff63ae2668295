"""An agent in ten lines: it reads the current folder and answers a question."""

from __future__ import annotations

from which_model import which_model

from harness import Agent
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (Reply((Call("list_files", {"path": "."}),)), "They show how to embed an agent, one idea per file.")

agent = Agent(which_model(*SCRIPT), builtin_tools(), "You answer in one sentence.")
result = agent.prompt_sync("What do the programs in examples/ show?")
result.raise_for_failure()
print(result.text)
print(f"{result.usage.input} input tokens, {result.usage.output} output tokens")
