"""Arguments of an agent in their convenient forms: prompts, models given by name, and functions as tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeAlias, TypeGuard

from harness.errors import ConfigError, NoMessages
from harness.messages import Image, Message, Text, UserContent, UserMessage
from harness.ports.provider import Model
from harness.ports.tool import Tool

Prompt: TypeAlias = str | Sequence[UserContent] | UserMessage | Sequence[Message]
"""A text, content blocks, a user message, or messages."""


def messages_of(prompt: Prompt) -> tuple[Message, ...]:
    """Return the prompt as messages.

    Raises:
        NoMessages: The prompt is an empty list.
        ConfigError: The list mixes content and messages, or contains something else.
    """
    if isinstance(prompt, str):
        return (UserMessage((Text(prompt),)),)
    if isinstance(prompt, UserMessage):
        return (prompt,)
    if not prompt:
        raise NoMessages("the prompt is empty")
    content = tuple(each for each in prompt if isinstance(each, Text | Image))
    messages = tuple(each for each in prompt if isinstance(each, Message))
    if len(prompt) not in (len(content), len(messages)):
        raise ConfigError("a prompt is a text, a list of Text and Image, or a list of messages")
    return (UserMessage(content),) if content else messages


def user_messages(prompt: Prompt) -> tuple[UserMessage, ...]:
    """Return the user messages of a prompt for a run that is active.

    Raises:
        NoMessages: The prompt is an empty list.
        ConfigError: The prompt has an invalid form, or contains messages other than `UserMessage`.
    """
    messages = messages_of(prompt)
    prompts = tuple(each for each in messages if isinstance(each, UserMessage))
    if len(prompts) < len(messages):
        raise ConfigError("only user messages can be steered or queued: pass UserMessage, or its content")
    return prompts


GROUP = "cinch.connect"
"""Entry point group of the function that connects a model by its name."""
EXAMPLE = "anthropic/claude-sonnet-5-5"


def model_of(model: Model | str) -> Model:
    """Return the model, connecting it if it is given by name.

    Raises:
        ConfigError: The model does not exist, no installed package connects models, or it is neither model nor name.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):  # pyright: ignore[reportUnnecessaryIsInstance] callers may not be type checked
        raise ConfigError(f"{model!r:.80} is not a model: pass a harness.Model, or a name such as {EXAMPLE!r}")
    connected = _connect()(model)
    if not isinstance(connected, Model):
        raise ConfigError(f"the entry point of {GROUP} returned {connected!r:.80} for {model!r} instead of a model")
    return connected


@cache
def _connect() -> Callable[[str], object]:
    # Imported late: it takes milliseconds, and only models given by name need it.
    from importlib.metadata import entry_points

    for found in entry_points(group=GROUP):
        try:
            return found.load()
        except (ImportError, AttributeError) as error:
            raise ImportError(f"{error}; does another package hide {found.module!r} of cinch-tui?") from error
    raise ConfigError(
        f"no installed package connects models by name (entry point group {GROUP}): "
        f'install cinch-tui, or pass a model, as in Agent(connect("{EXAMPLE}"))'
    )


ToolLike: TypeAlias = Tool | Callable[..., object]
"""A tool, or a function with type hints, which becomes one as with `@tool`."""


def tool_list(tools: Sequence[ToolLike]) -> tuple[Tool, ...]:
    """Return the tools as a tuple, functions as function tools.

    Raises:
        ConfigError: An item is not a tool and cannot become one, or two tools have the same name.
    """
    found = tuple(each if _is_tool(each) else _made(each) for each in tools)
    names = [tool.name for tool in found]
    if len(set(names)) == len(names):
        return found
    duplicates = sorted({name for name in names if names.count(name) > 1})
    raise ConfigError(f"two tools have the same name: {', '.join(duplicates)}")


def _made(given: object) -> Tool:
    if inspect.isclass(given):
        raise ConfigError(f"{given.__name__} in tools is a class: pass an instance of it")
    if not inspect.isroutine(given):
        raise ConfigError(f"{given!r:.80} in tools is not a tool: pass a function with type hints, or a harness.Tool")
    if getattr(given, "__name__", "") == "<lambda>":
        raise ConfigError("a lambda in tools has no name and no type hints: pass a function defined with def")
    # Imported late: most agents have no function tools.
    from harness.function_tools.function_tool import FunctionTool

    return FunctionTool(given, {})


def _is_tool(given: object) -> TypeGuard[Tool]:
    # Checked on the class: it is fast, and the port has properties that read files.
    kind = type(given)
    return hasattr(kind, "run") and hasattr(kind, "validate") and isinstance(getattr(given, "name", None), str)
