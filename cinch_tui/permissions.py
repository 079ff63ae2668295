"""Permission rules of a start: from the configuration, the command line, and the project's rules file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from cinch_tui.config.config import Layer
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.trust.store import TrustStore
from harness.approval.claude_tools import tools_named
from harness.approval.store import RuleStore, WrittenRule
from harness.errors import ConfigError
from harness.permissions import READ, SHELL, WRITE, Level, Rule, RuleKey, RuleSource
from harness.ports.interaction import NonInteractive
from harness.ports.tool import REPLACED_TOOLS, Tool, is_tool_allowed
from harness.risk import Risk
from harness.session.paths import project_dir
from harness.user_requests import AllowOnce, Approval, ApprovalRequest
from tools import OPTIONAL_TOOLS

LEVELS: dict[Layer, Level] = {
    "managed": "managed",
    "flag": "flag",
    "environment": "flag",
    "agent": "flag",
    "local": "local",
    "project": "project",
    "file": "user",
}
_GROUPS = {READ, WRITE, "write"}


class HeadlessApproval(NonInteractive):
    """No user, and every call that needs approval is allowed, except dangerous ones."""

    denies_calls = False

    async def approve(self, request: ApprovalRequest) -> Approval:
        if request.risk.level == "dangerous":
            return await super().approve(request)
        return AllowOnce()


def load_rules(options: Options, settings: Settings, root: Path) -> tuple[RuleStore, list[str]]:
    """Return the permission rules of a folder, and problems with them.

    Args:
        options: Options with the rules of the configuration.
        settings: Settings of the start.
        root: The folder.

    Raises:
        ConfigError: a rule that asks or denies is invalid, or contradicts its examples.
    """
    store = RuleStore(project_dir(options.paths.data, root) / "rules.json", risk_of=_risk_of)
    return store, reload_rules(store, options, settings, root)


def reload_rules(store: RuleStore, options: Options, settings: Settings, root: Path) -> list[str]:
    """Replace all rules but those of the session, and return problems with the new ones.

    Raises:
        ConfigError: as `load_rules`.
    """
    store.managed_only = settings.permissions.managed_only
    written = [
        WrittenRule(each.text, each.effect, RuleSource(LEVELS[each.layer], each.place), _examples(options, each.text))
        for each in options.rules
    ]
    imported: dict[RuleKey, Rule] = {}
    notices: list[str] = []
    if settings.permissions.import_claude:
        # Imported here because few users turn it on.
        from cinch_tui.trust.claude_settings import claude_files

        sources = options.sources
        for file in claude_files(root, sources.user_file, TrustStore(sources.trust_file, sources.session_pins)):
            found = file.read()
            notices += _import_notice(file.path, found.notices)
            for rule in found.rules:
                imported.setdefault(rule.key, rule)
    return [*notices, *store.load(written, imported.values())]


def _import_notice(path: Path, notices: Sequence[str]) -> Sequence[str]:
    """Return the notices about entries that are not imported, as one line if there are several."""
    if len(notices) < 2:
        return notices
    return (f"{path}: {len(notices)} entries are not imported as they are; cinch permissions import names them",)


def _examples(options: Options, text: str) -> tuple[str, ...]:
    """Return the examples of a rule, which may name it in another spelling."""
    found = (examples for name, examples in options.rule_examples.items() if _is_same(name, text))
    return next(found, ())


def _is_same(name: str, text: str) -> bool:
    from harness.approval.rules import parse_rule

    try:
        return name == text or str(parse_rule(name)) == str(parse_rule(text))
    except ConfigError:
        return False


def _risk_of(command: str) -> Risk:
    # Imported here because few rules have examples.
    from tools.shell.analysis import analyze

    return analyze(command).risk


def _named_here(name: str) -> str:
    """Return a hint on the name of a tool of Claude Code in rules; empty for any other name."""
    names = tools_named(name)
    return f"; rules name it {' or '.join(names)}" if names != (name,) else ""


def ineffective_rules(rules: Iterable[Rule], tools: Set[str]) -> Iterator[str]:
    """Yield a warning for each rule that cannot match a call.

    Args:
        rules: The rules.
        tools: Names of all tools.
    """
    for rule in rules:
        is_remote = rule.tool.startswith(("mcp__", "openapi__"))
        is_known = rule.tool in tools or rule.tool in _GROUPS or "*" in rule.tool or is_remote
        if not is_known:
            why = f"there is no tool named {rule.tool}{_named_here(rule.tool)}"
            yield f"{rule.source.place}: {rule} has no effect: {why}"
        elif rule.tool not in (SHELL, "run_command") and rule.pattern.endswith(":*"):
            yield f"{rule.source.place}: {rule} has no effect: only bash commands have a prefix"


def is_enabled(tool: Tool, settings: Settings) -> bool:
    """Return True if the settings offer a tool. The name of an optional tool adds it and excludes no other.

    `apply_patch` is added with the tools that it replaces, for the models that are offered it; see
    `cinch_tui.assembly.dialects`.
    """
    name, enabled, disabled = tool.name, settings.tools.enabled, settings.tools.disabled
    if name in OPTIONAL_TOOLS and name not in enabled and name not in REPLACED_TOOLS:
        return False
    # With the patterns of the others alone, an optional tool is one that its replaced tools add.
    patterns = [each for each in enabled if each not in OPTIONAL_TOOLS or each == name]
    return is_tool_allowed(name, patterns or None, disabled)
