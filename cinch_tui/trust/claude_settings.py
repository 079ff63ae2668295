"""Settings files of Claude Code with permissions, as far as the user trusts them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.kinds import CLAUDE
from harness.approval.claude_settings import ImportedSettings, import_claude_settings

if TYPE_CHECKING:
    from cinch_tui.config.setting import Value
    from cinch_tui.trust.store import TrustStore
    from harness.permissions import Level

MANAGED = Path("/etc/claude-code/managed-settings.json")


class ClaudeFile(Struct, frozen=True):
    """A settings file of Claude Code."""

    path: Path
    """Path of the file."""
    level: Level
    """Level of its rules."""
    is_trusted: bool
    """False if it may only tighten permissions."""

    def read(self) -> ImportedSettings:
        """Return its permissions; without trust, those that tighten."""
        imported = import_claude_settings(self.path, self.level)
        if not self.is_trusted:
            imported.rules = [rule for rule in imported.rules if rule.effect != "allow"]
        return imported

    @property
    def settings(self) -> dict[str, Value]:
        """Its modes, as settings of cinch by name."""
        imported = self.read()
        modes: dict[str, Value] = {"approval.mode": imported.approval} if imported.approval else {}
        if imported.starts_planning:
            modes["plan.enabled"] = True
        if imported.forbids_off:
            modes["approval.loosest_mode"] = "edits"
        return modes


def claude_files(folder: Path, user_file: Path, store: TrustStore) -> Iterator[ClaudeFile]:
    """Yield the settings files of Claude Code that apply in a folder: the managed one, then the strongest last.

    Args:
        folder: the folder.
        user_file: the user's configuration file of cinch.
        store: the user's trust in folders.
    """
    yield ClaudeFile(MANAGED, "managed", is_trusted=True)
    yield ClaudeFile(Path("~/.claude/settings.json").expanduser(), "user", is_trusted=True)
    files = inventory(folder, user_file)
    trust = store.state(files)
    for found in files.found:
        if found.kind == CLAUDE:
            level: Level = "local" if found.path.name == "settings.local.json" else "project"
            yield ClaudeFile(found.path, level, is_trusted=found.path not in trust.inert)
