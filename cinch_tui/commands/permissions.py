"""The command `/permissions`: lists, explains, adds and removes permission rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from cinch_tui.commands.approval import APPROVAL, is_session_rule, revoke, session_rules, show_permissions
from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Choice
from harness.errors import ConfigError
from harness.messages import AssistantMessage, JsonObject, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.permissions import Effect, Rule
    from harness.ports.tool import Tool

__all__ = ["APPROVAL"]

_EFFECTS: dict[str, Effect] = {"allow": "allow", "ask": "ask", "deny": "deny"}
_PLACES = ("session", "project", "user")
_USAGE = "/permissions takes why CALL, allow|ask|deny RULE [session|project|user], or rm RULE, not {!r}"


def _choices(host: CommandHost) -> tuple[Choice, ...]:
    return (
        Choice("why last", "explain the decision on the last call"),
        Choice("revoke", "remove all rules of this session"),
        *(Choice(f"revoke {rule}", "ask again") for rule in session_rules(host)),
        Choice("allow bash", "allow all commands this session, except dangerous ones"),
    )


@APPROVAL.command(
    "/permissions [why CALL|allow RULE|rm RULE]", "explain, list and change permission rules", arguments=_choices
)
async def permissions(host: CommandHost, argument: str) -> None:
    verb, _, rest = argument.partition(" ")
    rest = rest.strip()
    if verb == "add":
        verb, _, rest = rest.partition(" ")
        rest = rest.strip()
    if verb in ("", "list"):
        show_permissions(host, "Permissions")
    elif verb in ("why", "explain"):
        _explain(host, rest)
    elif verb == "revoke":
        _revoke(host, rest)
    elif verb == "suggest":
        host.notice("To propose rules from past approvals, run: cinch permissions suggest")
    elif verb in _EFFECTS and rest:
        _add(host, _EFFECTS[verb], rest)
    elif verb in ("rm", "remove") and rest:
        _remove(host, rest)
    else:
        host.notice(_USAGE.format(argument), "warning")


def _add(host: CommandHost, effect: Effect, text: str) -> None:
    from harness.approval.rules import parse_rule

    place = "session"
    if text.rpartition(" ")[2] in _PLACES and (" " in text and text.rpartition(" ")[0].strip()):
        text, _, place = text.rpartition(" ")
    rule = parse_rule(text, effect)
    if problem := _problem_with(host, rule):
        host.notice(problem, "warning")
        return
    store = host.session.agent.state.permissions.store
    if place == "user":
        _add_for_user(host, rule)
    elif problem := store.add(rule, persist=place == "project"):
        host.notice(problem, "error")
    host.show_permissions()
    where = {"session": "this session", "project": "in this project", "user": "in all projects"}[place]
    host.notice(f"{_PAST[effect]} {where}: {_scope(rule)}", "warning" if effect == "allow" else "info")


_PAST: dict[Effect, str] = {"allow": "Allowed", "ask": "Needs approval", "deny": "Denied"}


def _scope(rule: Rule) -> str:
    if rule.pattern:
        return str(rule)
    is_open = rule.tool == "bash" and rule.effect == "allow"
    return "all commands except dangerous ones" if is_open else f"all {rule.tool} calls"


def _problem_with(host: CommandHost, rule: Rule) -> str:
    """Return the reason why a rule would have no effect; empty if it has one."""
    from harness.permissions import READ, WRITE

    names = {each.name for each in host.session.agent.state.tools} | {READ, WRITE}
    is_known = rule.tool in names or "*" in rule.tool or rule.tool.startswith("mcp__")
    return "" if is_known else f"There is no tool named {rule.tool}"


def _add_for_user(host: CommandHost, rule: Rule) -> None:
    """Add a rule to the user's configuration file, and for this session until it is read."""
    from msgspec.structs import replace

    from cinch_tui.config.edit import set_in_file
    from cinch_tui.config.file import read_config_file
    from cinch_tui.config.layers import must_be_read
    from harness.permissions import RuleSource

    file = host.session.options.sources.user_file
    name = f"permissions.{rule.effect}"
    entry = read_config_file(file).entries.get(name) if must_be_read(file) else None
    given: object = entry.value if entry else ()
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{file}: {name} is not a list")
    texts = tuple(str(each) for each in cast("Iterable[object]", given))
    if str(rule) not in texts:
        set_in_file(file, name, (*texts, str(rule)))
    host.session.agent.state.permissions.store.add(replace(rule, source=RuleSource("user", str(file))))


def _revoke(host: CommandHost, text: str) -> None:
    """Remove the rules of the session that a text names, else the rule of that text."""
    if text and not is_session_rule(host, text):
        _remove(host, text)
    else:
        revoke(host, text)


def _remove(host: CommandHost, text: str) -> None:
    store = host.session.agent.state.permissions.store
    names = {text, text.replace(" *)", ":*)")}
    found = [rule for rule in (*store.session_rules, *store.rules) if str(rule) in names]
    if not found:
        host.notice(f"There is no rule {text}; /permissions lists all", "warning")
        return
    problems = [problem for rule in found if (problem := store.remove(rule))]
    host.show_permissions()
    if problems:
        host.notice("\n".join(problems), "warning")
    else:
        host.notice(f"Removed: {', '.join(dict.fromkeys(f'{rule.effect} {rule}' for rule in found))}")


def _explain(host: CommandHost, text: str) -> None:
    from cinch_tui.reports.permissions import decision_text
    from harness.approval.explanation import CallSettings, explain

    agent = host.session.agent
    settings = CallSettings(agent.state.permissions, agent.workspace, tuple(agent.state.tools))
    call = _last_call(host) if text in ("", "last") else _call_of(text, settings.tools)
    if call is None:
        host.notice("No call yet; /permissions why git push explains a command", "warning")
        return
    host.show("Why", decision_text(call, settings.tool(call.name), explain(settings, call)))


def _last_call(host: CommandHost) -> ToolCall | None:
    for message in reversed(host.session.agent.history.messages):
        if isinstance(message, AssistantMessage):
            for content in reversed(message.content):
                if isinstance(content, ToolCall):
                    return content
    return None


def _call_of(text: str, tools: tuple[Tool, ...]) -> ToolCall:
    """Return the call that a text describes: a tool with JSON or with its main argument, else a command line."""
    name, _, rest = text.partition(" ")
    tool = next((each for each in tools if each.name == name), None)
    if tool is None:
        return ToolCall("explained", "bash", {"command": text})
    return ToolCall("explained", name, _arguments(tool, rest.strip()))


def _arguments(tool: Tool, text: str) -> JsonObject:
    import json

    if text.startswith("{"):
        try:
            given: object = json.loads(text)
        except ValueError as error:
            raise ConfigError(f"the arguments are not valid JSON: {error}") from error
        if isinstance(given, dict):
            return given  # pyright: ignore[reportUnknownVariableType] JSON
    required: object = tool.parameters.get("required")
    names: list[str] = required if isinstance(required, list) else []  # pyright: ignore[reportAssignmentType, reportUnknownVariableType] JSON schema
    if not (names and text):
        return {}
    # The decision depends on the path, not on the change.
    others = {"old_string": "a", "new_string": "b"} if tool.name == "edit_file" else dict.fromkeys(names[1:], "")
    return {names[0]: text, **others}
