"""AgentSettings: changes to an agent that take effect at the next turn."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from harness.agent.core import AgentCore
from harness.agent.model_name import model_of
from harness.approval.modes import Mode
from harness.events import ModeChanged, ModelChanged
from harness.function_tools.tool_list import ToolLike, tool_list
from harness.ports.provider import Model
from harness.thinking_level import ThinkingLevel


class AgentSettings(AgentCore):
    """Model, thinking level, mode, system prompt and tools."""

    def set_model(self, model: Model | str) -> None:
        """Use another model from the next turn on; at once, if the run is waiting to retry a request.

        Raises:
            ConfigError: The model does not exist.
        """
        model = model_of(model)
        self.state.former_models.append(self.state.model)
        self.state.model = model
        self.retry_now()
        self.publish(ModelChanged(spec=model.spec))

    def set_thinking(self, level: ThinkingLevel) -> None:
        """Set the thinking level of the model from the next turn on."""
        model = self.state.model
        self.set_model(replace(model, spec=replace(model.spec, thinking=level)))

    def set_mode(self, mode: Mode) -> None:
        """Switch between planning and executing; only on behalf of the user, never of the model."""
        self.state.mode = mode
        self.publish(ModeChanged(mode=mode.name))

    def set_system_prompt(self, text: str) -> None:
        """Replace the system prompt from the next turn on."""
        self.state.system_prompt = text

    def set_tools(self, tools: Sequence[ToolLike]) -> None:
        """Offer these tools from the next turn on; calls that are running are not affected.

        Raises:
            ConfigError: Two tools have the same name, or an item is not a tool.
        """
        self.state.tools = tool_list(tools)

    def add_tool(self, tool: ToolLike) -> None:
        """Offer one more tool from the next turn on.

        Raises:
            ConfigError: The agent already has a tool of that name, or the value is not a tool.
        """
        self.set_tools((*self.state.tools, tool))

    def remove_tool(self, name: str) -> None:
        """Stop offering a tool from the next turn on; does nothing if no tool has that name."""
        self.set_tools([tool for tool in self.state.tools if tool.name != name])
