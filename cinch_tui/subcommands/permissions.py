"""`cinch permissions`: explain decisions, list and propose permission rules. Executes nothing."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import asdict

from cinch_tui.cli.arguments import OPTIONS, Arguments
from cinch_tui.cli.start import config_sources, working_folder
from cinch_tui.config.layers import load_config
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.known_tools import known_names
from cinch_tui.permissions import ineffective_rules, is_enabled, load_rules
from cinch_tui.print_mode.output import Output
from cinch_tui.reports.permissions import rule_rows
from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import APPROVAL_MODES, EXECUTE, PLAN, ApprovalMode
from harness.approval.policy import Permissions
from harness.approval.store import RuleStore
from harness.errors import ConfigError, SessionError
from harness.messages import AssistantMessage, JsonObject, JsonValue, Message, ToolCall, ToolResult
from harness.terminal_text import strip_escapes
from harness.workspace.workspace import Workspace
from tools.builtin import all_tools

if TYPE_CHECKING:
    from harness.approval.suggest import PastCall
    from harness.permissions import Level

HELP = """\
cinch permissions explain    decide on tool calls as cinch would in this folder, and
                             say why; executes nothing. Reads one JSON object per line:
                             {"tool": "bash", "arguments": {"command": "git status"}}
                             and prints one for each, in order:
                             {"decision", "rule", "source", "risk", "why"}
  --mode MODE                on, smart, edits, off, or plan; default: as configured
cinch permissions list       list the permission rules of this folder, with their
                             origin and use
cinch permissions suggest    propose rules for calls that you approved again and again
                             in this folder, with calls that each would and would not
                             allow
  --min N                    least number of calls; default: 3
cinch permissions import     print the permissions of Claude Code's settings.json files
                             as configuration of cinch; changes nothing
With list and suggest, --json prints one JSON object per line. Explain, list and
suggest take --allow, --ask, --deny, --add-dir, --trust and --config, as cinch does.
"""
_START_FLAGS = ("--allow", "--ask", "--deny", "--add-dir", "--trust", "--config")
MODES: dict[str, ApprovalMode] = {mode: mode for mode in APPROVAL_MODES}
MOST_SESSIONS = 100
SHAPE = '{"tool": …, "arguments": {…}}'


def run(argv: Sequence[str], cwd: Path, out: Output) -> int:
    """Run one action and return the exit status: 2 if a line of the input is invalid.

    Raises:
        ConfigError: the arguments or the configuration are invalid.
    """
    if argv[:1] in (["--help"], ["-h"]):
        out.write_text(HELP)
        return 0
    arguments = _parsed(argv)
    if arguments.action == "import":
        return _import(cwd, out)
    options, settings = _loaded(cwd, arguments)
    store, problems = load_rules(options, settings, cwd)
    _report(problems)
    if arguments.action == "list":
        return _list(store, out, as_json=arguments.json)
    _report(ineffective_rules(store.rules, known_names(options, settings)))
    tools = tuple(tool for tool in all_tools() if is_enabled(tool, settings))
    workspace = Workspace(cwd, options.add_dirs)
    if arguments.action == "suggest":
        context = CallSettings(Permissions(EXECUTE, "smart", store), workspace, tools)
        return _suggest(options, context, arguments.min, out, as_json=arguments.json)
    context = CallSettings(_permissions(settings, store, arguments.mode), workspace, tools)
    return _explain(context, sys.stdin.buffer, out)


def _permissions(settings: Settings, store: RuleStore, mode: str | None) -> Permissions:
    """Return the permissions in a mode; None for the configured one."""
    approval = MODES.get(mode or "", settings.approval.mode)
    is_plan = settings.plan.enabled if mode is None else mode == "plan"
    permissions = Permissions(PLAN if is_plan else EXECUTE, settings.approval.mode, store)
    permissions.loosest = settings.approval.loosest_mode
    permissions.set_approval(approval)
    return permissions


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] raises instead of exiting
        raise ConfigError(f"cinch permissions: {message}; see cinch permissions --help")


class _Arguments(Arguments):
    """Arguments of `cinch permissions`."""

    action: str
    mode: str | None
    json: bool
    min: int


def _parsed(argv: Sequence[str]) -> _Arguments:
    parser = _Parser(prog="cinch permissions", add_help=False, allow_abbrev=False)
    actions = parser.add_subparsers(
        dest="action", required=True, parser_class=_Parser, metavar="explain|list|suggest|import"
    )
    explained = actions.add_parser("explain", add_help=False, allow_abbrev=False)
    explained.add_argument("--mode", choices=(*MODES, "plan"))
    listed = actions.add_parser("list", add_help=False, allow_abbrev=False)
    listed.add_argument("--json", action="store_true")
    suggested = actions.add_parser("suggest", add_help=False, allow_abbrev=False)
    suggested.add_argument("--json", action="store_true")
    suggested.add_argument("--min", type=int, default=3)
    actions.add_parser("import", add_help=False, allow_abbrev=False)
    for action in (explained, listed, suggested):
        for flag in _START_FLAGS:
            action.add_argument(flag, **OPTIONS[flag])
    return parser.parse_args(argv, namespace=_Arguments())


def _loaded(cwd: Path, arguments: Arguments) -> tuple[Options, Settings]:
    paths = find_paths(os.environ)
    sources = config_sources(paths, cwd, arguments)
    config = load_config(sources)
    _report(config.notices)
    folders = tuple(working_folder(name, "--add-dir") for name in arguments.add_dir)
    rules, examples = config.rules, config.examples
    options = Options(cwd, paths, os.environ, sources, add_dirs=folders, rules=rules, rule_examples=examples)
    return options, config.settings


def _explain(context: CallSettings, stream: BinaryIO, out: Output) -> int:
    status = 0
    for line in stream:
        if line.strip():
            record = explained(context, line)
            out.write_json(record)
            status = 2 if "error" in record else status
    return status


def explained(context: CallSettings, line: bytes) -> JsonObject:
    """Return the decision on a call, given as a line of JSON; for an invalid line, an object with `error`."""
    try:
        given: JsonValue = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"error": f"not valid JSON: {error}; expected {SHAPE}"}
    match given:
        case {"tool": str() as name, "arguments": dict() as arguments}:
            decision = explain(context, ToolCall("explained", name, arguments))
        case _:
            return {"error": f"not a tool call; expected {SHAPE}"}
    return {
        "decision": decision.kind,
        "rule": str(decision.rule) if decision.rule else None,
        "source": decision.source,
        "risk": decision.risk.level,
        "why": decision.why,
    }


def _list(store: RuleStore, out: Output, *, as_json: bool) -> int:
    rows = rule_rows(store)
    if as_json:
        for row in rows:
            out.write_json(asdict(row))
        return 0
    if not rows:
        out.write_text("no permission rules; docs/permissions.md describes them")
        return 0
    width = max(len(row.rule) for row in rows)
    for row in rows:
        out.write_text(f"{row.effect:5}  {row.rule:{width}}  {row.usage:>18}  {row.source}".rstrip())
    return 0


def _past_calls(options: Options, context: CallSettings) -> Iterator[PastCall]:
    """Yield the calls of the folder's sessions that need approval, as they would be assessed today."""
    # Imported here because only this action reads sessions.
    from harness.approval.suggest import PastCall
    from harness.session.index import list_sessions
    from harness.session.resume import load_session

    problems: list[str] = []
    for session in list_sessions(options.paths.data, options.cwd, limit=MOST_SESSIONS, on_problem=problems.append):
        try:
            for call, is_allowed in _decided_calls(load_session(session.path).messages):
                decision = explain(context, call)
                if decision.kind == "ask":
                    yield PastCall(call.name, decision.risk.subject or call_text(call), decision.risk, is_allowed)
        except SessionError as error:
            problems.append(f"{session.id[:8]}: {error}")
    _report(problems)


def _decided_calls(messages: Iterable[Message]) -> Iterator[tuple[ToolCall, bool]]:
    """Yield the calls that have a result, with True unless they were denied."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls |= {each.id: each for each in message.content if isinstance(each, ToolCall)}
        elif isinstance(message, ToolResult) and message.call_id in calls:
            is_denied = bool((message.details or {}).get("denied"))
            if is_denied or not message.is_error:
                yield calls.pop(message.call_id), not is_denied


def call_text(call: ToolCall) -> str:
    """Return a call in one line: its path or command, else its arguments."""
    main = call.arguments.get("path") or call.arguments.get("command")
    return main if isinstance(main, str) else json.dumps(call.arguments, ensure_ascii=False)


def _suggest(options: Options, context: CallSettings, least: int, out: Output, *, as_json: bool) -> int:
    from harness.approval.suggest import suggest

    rules = context.permissions.store.of("allow")
    found = suggest(_past_calls(options, context), context.workspace.root, rules, least)
    if not found and not as_json:
        out.write_text("nothing to suggest: no calls of this folder's sessions needed approval often enough")
    for each in found:
        if as_json:
            out.write_json({**asdict(each), "rule": str(each.rule)})
            continue
        out.write_text(f"{each.rule}   would have spared {each.count} approvals")
        for mark, texts in (("allows", each.matching), ("does not allow", each.others)):
            for text in texts:
                out.write_text(f"    {mark}: {' '.join(text.split())}")
    if found and not as_json:
        out.write_text("To use a rule: /permissions allow RULE project, or permissions.allow in the configuration.")
    return 0


def _import(cwd: Path, out: Output) -> int:
    """Print the permissions of Claude Code's settings as configuration of cinch."""
    from harness.approval.claude_settings import import_claude_settings

    files: dict[Path, Level] = {
        Path("/etc/claude-code/managed-settings.json"): "managed",
        Path.home() / ".claude" / "settings.json": "user",
        cwd / ".claude" / "settings.json": "project",
        cwd / ".claude" / "settings.local.json": "local",
    }
    for path, level in files.items():
        imported = import_claude_settings(path, level)
        _report(imported.notices)
        lines = [
            f"{effect} = [{', '.join(json.dumps(str(rule), ensure_ascii=False) for rule in rules)}]"
            for effect in ("allow", "ask", "deny")
            if (rules := [rule for rule in imported.rules if rule.effect == effect])
        ]
        approval = [f'mode = "{imported.approval}"'] if imported.approval else []
        approval += ['loosest_mode = "edits"'] if imported.forbids_off else []
        plan = ["enabled = true"] if imported.starts_planning else []
        tables = {"approval": approval, "plan": plan, "permissions": lines}
        if any(tables.values()):
            out.write_text(f"# {path}: for the {level} configuration of cinch")
        for name, settings in tables.items():
            if settings:
                out.write_text("\n".join((f"[{name}]", *settings)))
    return 0


def _report(problems: Iterable[str]) -> None:
    for problem in problems:
        sys.stderr.write(f"cinch permissions: {strip_escapes(problem)}\n")
