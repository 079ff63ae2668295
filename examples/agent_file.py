"""Agent file: model, instructions, tools and limits of an agent in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from which_model import which_model

from extensions.agent_files import read_agent_file
from extensions.agent_options import create_agent
from harness import Model
from providers.demo import Call, Reply
from tools import builtin_tools

SCRIPT = (Reply((Call("list_files", {"path": "examples"}),)), "Each shows one idea.")


def connect(name: str, *, thinking: str) -> Model:
    """Return the model of the command line; usually `providers.connect` is passed instead."""
    print(f"the file names {name}, thinking {thinking}")
    return which_model(*SCRIPT)


async def main() -> None:
    file = read_agent_file(Path(__file__).with_name("agent_file.toml"))
    agent = create_agent(file, connect, builtin_tools())
    print(f"{file.role.name}: {[tool.name for tool in agent.state.tools]}, {agent.options.limits.max_turns} turns")
    result = await agent.prompt("What do the examples have in common?")
    print(result.text)


if __name__ == "__main__":
    asyncio.run(main())
