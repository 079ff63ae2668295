"""`/mcp`, and the prompts of MCP servers as commands."""

from __future__ import annotations

import asyncio
import re
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice, Command, CommandGroup
from harness.errors import CinchError

if TYPE_CHECKING:
    from cinch_tui.mcp_control import McpControl
    from tools.mcp.catalog import McpPrompt, McpPromptArgument
    from tools.mcp.servers import McpServers

MCP = CommandGroup("MCP servers")
PROMPTS = "Prompts of MCP servers"
"""Title of the commands that are prompts."""
MAX_USAGE_CHARS = 60
MAX_SUMMARY_CHARS = 120
MAX_COMPLETIONS = 9
COMPLETION_SECONDS = 3.0
"""Maximum wait for the values that a server suggests for an argument."""
_VALUE = re.compile(r'(?:"([^"]*)"|(\S+))\s*')
_QUOTED = re.compile(r'"([^"]*)"')


def _choices(host: CommandHost) -> tuple[Choice, ...]:
    servers = host.session.mcp
    if servers is None:
        return ()
    choices: list[Choice] = []
    for state in servers.states():
        name, is_on = state.server.name, state.phase not in ("off", "failed")
        choices += [
            Choice(f"reconnect {name}", "connect again"),
            Choice(f"{'disable' if is_on else 'enable'} {name}", "for this session"),
            Choice(f"log {name}", "the latest lines that the server has logged"),
        ]
        if state.server.url:
            choices += [Choice(f"login {name}", "log in by browser"), Choice(f"logout {name}", "delete the login")]
    return tuple(choices)


@MCP.command(
    "/mcp [action name]",
    "show MCP servers, their tools and logs; reconnect, log in, turn them off",
    arguments=_choices,
)
async def mcp(host: CommandHost, argument: str) -> None:
    # Imported here because few users have MCP servers.
    from cinch_tui.mcp_control import McpControl

    control = McpControl(host.session, host.show_login)
    if not argument:
        await host.show_mcp(control)
        return
    action, _, name = argument.partition(" ")
    if not name:
        raise CinchError(f"/mcp {action} needs the name of a server")
    await _act(host, control, action, name.strip())


async def _act(host: CommandHost, control: McpControl, action: str, name: str) -> None:
    steps: dict[str, Callable[[str], Awaitable[str]]] = {
        "reconnect": control.reconnect,
        "enable": control.reconnect,
        "disable": control.turn_off,
        "login": control.log_in,
        "logout": control.log_out,
    }
    if action == "log":
        from cinch_tui.reports.mcp import log_text

        control.state(name)
        # Indented, the lines are not Markdown.
        host.show(f"Log of {name}", textwrap.indent(log_text(control.servers, name), "    "))
        return
    if action not in steps:
        raise CinchError(f"/mcp takes {', '.join(steps)} or log, and the name of a server, not {action!r}")
    host.notice(await steps[action](name))


def prompt_commands(servers: McpServers) -> CommandGroup:
    """Return the prompts of all servers as commands: `/mcp__server__prompt`."""
    group = CommandGroup(PROMPTS)
    for prompt in servers.prompts():
        group.commands.append(_command(prompt))
    return group


def _command(prompt: McpPrompt) -> Command:
    from harness.function_tools.names import legal_tool_name
    from tools.mcp.state import clean_line

    arguments = " ".join(map(_shown, prompt.arguments))
    usage = f"/{legal_tool_name('mcp', prompt.server, prompt.name)} {clean_line(arguments, MAX_USAGE_CHARS)}"
    summary = clean_line(prompt.description or prompt.title, MAX_SUMMARY_CHARS)
    return Command(usage.rstrip(), summary, partial(_send_prompt, prompt))


def _shown(argument: McpPromptArgument) -> str:
    # Not in angle brackets: a missing argument is asked for.
    name = re.sub(r"[\s<>\[\]]", "_", argument.name)
    return name if argument.required else f"[{name}]"


async def _send_prompt(prompt: McpPrompt, host: CommandHost, text: str) -> None:
    from cinch_tui.user_input import user_input_of
    from harness.messages import UserMessage

    servers = host.session.mcp
    if servers is None:
        raise CinchError(f"the MCP server {prompt.server} is not connected")
    host.session.check_writable()
    arguments = parse_arguments(prompt, text)
    for argument in prompt.arguments:
        if argument.required and argument.name not in arguments:
            suggested = await _suggested(servers, prompt, argument.name, arguments)
            value = await _ask_argument(host, prompt, argument, suggested)
            if value is None:
                host.notice("Not sent.")
                return
            arguments[argument.name] = value
    content = await servers.get_prompt(prompt.server, prompt.name, arguments)
    user_input = user_input_of(UserMessage(content))
    if not user_input.text.strip():
        raise CinchError(f"the prompt {prompt.title} is empty")
    host.send(user_input.as_literal())


def parse_arguments(prompt: McpPrompt, text: str) -> dict[str, str]:
    """Return the arguments in a typed text, by name.

    Values are separated by blanks, or in double quotes; `name=value` names an argument. The last argument takes the
    rest of the text.

    Raises:
        CinchError: There are more values than arguments.
    """
    free = [each.name for each in prompt.arguments]
    found: dict[str, str] = {}
    text = text.strip()
    while text:
        name, separator, rest = text.partition("=")
        if separator and name in free:
            text = rest
        elif free:
            name = free[0]
        else:
            raise CinchError(
                f"{prompt.title} takes {len(prompt.arguments)} arguments; put values with blanks in quotes"
            )
        free.remove(name)
        value = _VALUE.match(text)
        is_last = not free and _QUOTED.fullmatch(text) is None
        if value is None or is_last:
            found[name], text = text, ""
        else:
            found[name], text = value[1] if value[1] is not None else value[2], text[value.end() :]
    return found


async def _ask_argument(
    host: CommandHost, prompt: McpPrompt, argument: McpPromptArgument, suggested: Sequence[str]
) -> str | None:
    """Return the value that the user enters or chooses; None if they cancel."""
    from harness.user_requests import Choice as Option
    from harness.user_requests import Question
    from tools.mcp.state import clean_line

    about = f": {argument.description}" if argument.description else ""
    answer = await host.session.agent.options.user.ask(
        Question(
            f"{prompt.title} of the MCP server {prompt.server} needs {clean_line(argument.name)}{about}",
            tuple(map(Option, suggested)),
            header=clean_line(argument.name, 16),
        )
    )
    return answer.text if answer.status in ("selected", "edited", "free_text") else None


async def _suggested(servers: McpServers, prompt: McpPrompt, argument: str, given: dict[str, str]) -> Sequence[str]:
    """Return the values that the server suggests, depending on those of other arguments."""
    try:
        async with asyncio.timeout(COMPLETION_SECONDS):
            found = await servers.complete_prompt(prompt.server, prompt.name, argument, "", given)
            return found[:MAX_COMPLETIONS]
    except (TimeoutError, CinchError):
        return ()
