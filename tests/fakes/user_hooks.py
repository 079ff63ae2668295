"""Agents with hooks of users: shell commands that really run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from fakes.people import ScriptedUser
from msgspec.structs import replace

from extensions.hooks.config import HookSource, LoadedHooks, add_hooks
from extensions.hooks.dispatch import HookDispatcher
from extensions.hooks.model_hooks import HookModels
from extensions.hooks.running import HookPlace
from extensions.hooks.session import HookSession
from extensions.hooks.user_hooks import PromptHooks, UserHooks
from harness.agent.agent import Agent
from harness.agent.options import AgentOptions
from harness.events import Notice
from harness.workspace.workspace import Workspace
from providers.demo import Reply, scripted
from tools import builtin_tools

SAVE = "cat > {}"
"""Command that writes its input to a file."""


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **fields}


def printing(reply: object, **fields: Any) -> dict[str, Any]:
    """Return a hook that replies with this JSON."""
    return command(f"cat >/dev/null; cat <<'EOF'\n{json.dumps(reply)}\nEOF", **fields)


def decision(permission: str, reason: str = "", **specific: object) -> dict[str, Any]:
    """Return the reply of a PreToolUse hook."""
    fields = {"permissionDecision": permission, "permissionDecisionReason": reason, **specific}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


def group(*hooks: dict[str, Any], matcher: str = "") -> dict[str, Any]:
    return {"matcher": matcher, "hooks": list(hooks)}


class HookedAgent:
    """An agent in a folder with hooks, and what it published for the user."""

    def __init__(
        self,
        folder: Path,
        hooks: dict[str, Any],
        *script: Reply | str,
        has_user: bool = True,
        models: HookModels | None = None,
        **options: Any,
    ) -> None:
        self.folder = folder
        self.user = ScriptedUser()
        self.notices: list[str] = []
        base = AgentOptions(user=self.user, workspace=Workspace(folder), spill_dir=folder / "spill")
        self.agent = Agent(scripted(*script), builtin_tools(), "You help.", replace(base, **options))
        loaded = LoadedHooks()
        add_hooks(loaded, hooks, HookSource(folder / "settings.json", "user"))
        assert loaded.problems == []
        place = HookPlace(folder, folder, dict(os.environ), models)
        dispatcher = HookDispatcher(self.agent, loaded.usable, place, lambda: str(folder / "session.jsonl"))
        self.session = HookSession(dispatcher, lambda message: message.text, has_user=has_user)
        self.agent.options = replace(
            self.agent.options,
            hooks=(*self.agent.options.hooks, UserHooks(self.session)),
            guardrails=(*self.agent.options.guardrails, PromptHooks(self.session)),
        )
        self.agent.subscribe(self.session.receive)
        self.agent.subscribe(lambda event: self.notices.append(event.text) if isinstance(event, Notice) else None)

    def read(self, name: str) -> Any:
        """Return the input that a hook has saved."""
        return json.loads((self.folder / name).read_text())
