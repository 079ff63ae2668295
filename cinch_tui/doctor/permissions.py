"""Checks of permission rules and of the trust in the folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase

from cinch_tui.config.config import Config
from cinch_tui.config.options import Options
from cinch_tui.doctor.findings import Finding
from cinch_tui.known_tools import known_names
from cinch_tui.permissions import ineffective_rules, load_rules
from cinch_tui.reports.formatting import APPROVAL_MEANINGS
from cinch_tui.trust.inventory import one_line_name
from cinch_tui.trust.prompt import folder_state
from harness.approval.explanation import CallSettings, explain
from harness.approval.modes import EXECUTE
from harness.approval.policy import Permissions
from harness.approval.store import RuleStore
from harness.errors import ConfigError
from harness.messages import ToolCall
from harness.permissions import SHELL, Rule
from harness.terminal_text import escape_controls
from harness.workspace.workspace import Workspace
from tools.builtin import all_tools

MOST_FILES = 4


def permission_findings(options: Options, config: Config) -> Iterator[Finding]:
    """Check the permission rules of a folder: that they can be read, agree with their examples, and can apply."""
    mode = config.settings.approval.mode
    try:
        store, problems = load_rules(options, config.settings, options.cwd)
    except ConfigError as error:
        yield Finding("bad", "permissions", escape_controls(str(error)), "correct or remove the rule")
        return
    context = CallSettings(Permissions(EXECUTE, "on", store), Workspace(options.cwd), tuple(all_tools()))
    yield Finding("ok", "permissions", f"approval {mode}: {APPROVAL_MEANINGS[mode]}; {_counts(store)}")
    problems += ineffective_rules(store.rules, known_names(options, config.settings))
    problems += [f"{rule.source.place}: {rule} never applies: {why}" for rule, why in overruled_rules(store, context)]
    for problem in dict.fromkeys(problems):
        yield Finding("note", "permissions", escape_controls(problem))


def _counts(store: RuleStore) -> str:
    counts = Counter(rule.effect for rule in store.rules)
    return ", ".join(f"{counts[each]} {each}" for each in ("allow", "ask", "deny") if counts[each]) or "no rules"


def overruled_rules(store: RuleStore, context: CallSettings) -> Iterator[tuple[Rule, str]]:
    """Yield the allow rules that others overrule in every case, each with the reason."""
    stricter = [*store.of("deny"), *store.of("ask")]
    for rule in store.of("allow"):
        for other in stricter:
            if not other.pattern and fnmatchcase(rule.tool, other.tool):
                yield rule, f"{other.effect} {other} comes first"
                break
        else:
            if why := _reason(rule, context):
                yield rule, why


def _reason(rule: Rule, context: CallSettings) -> str:
    """Return why a rule for a command does not allow even that command; empty if it does."""
    command = rule.pattern.removesuffix(":*")
    if rule.tool != SHELL or not command or "*" in command:
        return ""
    decision = explain(context, ToolCall("checked", SHELL, {"command": command}))
    if decision.kind == "allow":
        return ""
    if decision.rule is not None and decision.rule.effect != "allow":
        return f"{decision.kind} {decision.rule} comes first"
    return f"{command} is {decision.risk.level}" if decision.risk.level in ("dangerous", "forbidden") else ""


def trust_finding(options: Options) -> Finding:
    """Return the trust in the folder, with the files that are ignored."""
    files, trust = folder_state(options)
    root = one_line_name(str(files.root))
    if not files.found:
        return Finding("ok", "trust", f"{root} has no files that need trust")
    names = [files.label(each.path) for each in files.found if each.path in trust.inert]
    more = f" and {len(names) - MOST_FILES} more" if len(names) > MOST_FILES else ""
    ignored = f"ignored: {', '.join(names[:MOST_FILES])}{more}" if names else ""
    if not names:
        since = f" since {trust.since}" if trust.since else ""
        return Finding("ok", "trust", f"{root} is trusted{since}")
    state = "is trusted, but files have changed" if trust.is_trusted else "is not trusted"
    return Finding("note", "trust", f"{root} {state}; {ignored}", "to use them: /trust, or cinch config trust")
