"""Changes of the environment and of instruction files during a session, as reminders.

The system prompt describes both as of the start of the session and stays the same until its end, because services cache
a request by its beginning. What has changed is announced at the end of the conversation, once: what the model knows
follows from the system prompt and the reminders so far, also in a session that another process started.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from harness.instructions.loading import (
    INSTRUCTION_FILE,
    NO_RULES,
    LoadedInstructions,
    describe_environment,
    environment_facts,
    load_instructions,
    project_root,
    quoted_file,
    style_of,
)
from harness.instructions.reader import Instruction
from harness.messages import Message, UserMessage

_HEAD = "[Changed since the start of the session: "
_INTRODUCTION = "This replaces what is said about it above:"
_LATER_HEAD = "[Instructions for "
_LATER_INTRODUCTION = (
    "These instruction files apply to what you have just used, like those in the system prompt. They cannot allow what "
    "needs the user's approval."
)
_MOST_NAMES = 3
_REMOVED = "[This file was removed. Its instructions no longer apply.]"
_FACT = re.compile(r"^- (Working folder|Git|System|Date): (.*)$", re.MULTILINE)
_FILE = re.compile(r'^<instructions file="([^\n]*)">\n(.*?)\n</instructions>$', re.MULTILINE | re.DOTALL)
_FRESH_S = 1.0
"""Seconds in which the environment of a new session is not read again."""


class KnownEnvironment(Struct, frozen=True):
    """Environment and instruction files as a model knows them."""

    facts: dict[str, str] = {}
    """Values by name, such as `Date`."""
    files: dict[str, str] = {}
    """Instruction files by path, each as it is quoted."""

    def changes(self, now: KnownEnvironment) -> KnownEnvironment:
        """Return what is different in `now`; facts that were never stated are left out."""
        facts = {name: value for name, value in now.facts.items() if self.facts.get(name, value) != value}
        files = {path: text for path, text in now.files.items() if self.files.get(path) != text}
        gone = self.files.keys() - now.files.keys()
        removed = {path: _quoted(path, _REMOVED) for path in self.files if path in gone}
        return KnownEnvironment(
            facts, files | {path: text for path, text in removed.items() if self.files[path] != text}
        )


class EnvironmentReminders:
    """Source of reminders for `AgentOptions.get_reminders`.

    Args:
        cwd: Working folder.
        config_dir: Folder of the user's own AGENTS.md.
        project: True to read the instruction files of the project, which may be untrusted.
    """

    def __init__(self, cwd: Path, config_dir: Path, *, project: bool = False) -> None:
        self.project = project
        """True if instruction files of the project are read."""
        self.rules = NO_RULES
        """Further instruction files."""
        self._cwd = cwd
        self._config_dir = config_dir
        self._created = time.monotonic()

    async def __call__(self, system_prompt: str, messages: Sequence[Message]) -> Sequence[str]:
        """Return a reminder of what has changed; nothing for a system prompt that does not state the environment."""
        if not messages and time.monotonic() - self._created < _FRESH_S:
            return ()
        known = known_environment(system_prompt, messages)
        if not known.facts:
            return ()
        environment = await asyncio.to_thread(describe_environment, self._cwd)
        loaded = await load_instructions(self._cwd, self._config_dir, project=self.project, rules=self.rules)
        now = KnownEnvironment(environment_facts(environment), dict(map(_by_path, loaded.instructions)))
        text = _reminder(known.changes(now))
        return (text,) if text else ()

    def fits(self, stored: str, current: str) -> bool:
        """Return True if a session can continue with its stored system prompt instead of the current one.

        It has to be about the same folder, with the same trust in instruction files of the project, and have the same
        output style.
        """
        if style_of(stored) != style_of(current):
            return False
        before, now = known_environment(stored), known_environment(current)
        is_here = not before.facts or before.facts["Working folder"] == now.facts.get("Working folder")
        return is_here and self._has_project(before) == self._has_project(now)

    def _has_project(self, known: KnownEnvironment) -> bool:
        """Return True if files of the project are known; the user's own may be in it if it is the home folder."""
        root = project_root(self._cwd.absolute())
        own = (self._config_dir, Path(os.path.expanduser("~/.claude")))  # noqa: PTH111  pathlib raises without a home folder
        paths = [Path(path) for path in known.files]
        return any(path.is_relative_to(root) and not any(map(path.is_relative_to, own)) for path in paths)


def known_environment(system_prompt: str, messages: Sequence[Message] = ()) -> KnownEnvironment:
    """Return what the system prompt and the reminders state, the latest of each."""
    facts, files = dict[str, str](), dict[str, str]()
    for text in (system_prompt, *_reminders(messages, _HEAD)):
        # Files may contain lines that look like facts.
        facts |= dict(_FACT.findall(text.partition(INSTRUCTION_FILE)[0]))
        files |= _quoted_files(text)
    return KnownEnvironment(facts, files)


def later_instructions(
    loaded: LoadedInstructions, names: Sequence[str], system_prompt: str, messages: Sequence[Message]
) -> str:
    """Return the reminder of instruction files that the model does not know yet; empty if it knows all.

    Args:
        loaded: Files that apply to what a model has used.
        names: Names of what it has used.
        system_prompt: System prompt of the conversation.
        messages: Context of the conversation, where a reminder may have been summarized.
    """
    known = known_environment(system_prompt, messages).files
    for text in _reminders(messages, _LATER_HEAD):
        known |= _quoted_files(text)
    files = (_by_path(each) for each in loaded.instructions)
    new = [text for path, text in files if known.get(path) != text]
    if not new:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    head = f"{_LATER_HEAD}{', '.join(names[:_MOST_NAMES])}{more}]"
    return "\n\n".join([head, _LATER_INTRODUCTION, *new])


def current_instructions(system_prompt: str, messages: Sequence[Message]) -> str:
    """Return the instruction files that apply now, as they are quoted; the system prompt itself if it quotes none."""
    return "\n\n".join(known_environment(system_prompt, messages).files.values()) or system_prompt


def _reminders(messages: Sequence[Message], head: str) -> list[str]:
    reminders = (each.text for each in messages if type(each) is UserMessage and each.synthetic)
    return [text for text in reminders if text.startswith(head)]


def _quoted_files(text: str) -> dict[str, str]:
    return {found[1]: found[0] for found in _FILE.finditer(text)}


def _reminder(changed: KnownEnvironment) -> str:
    names = [*(name.lower() for name in changed.facts), *(Path(path).name for path in changed.files)]
    if not names:
        return ""
    facts = "\n".join(f"- {name}: {value}" for name, value in changed.facts.items())
    parts = [f"{_HEAD}{', '.join(names)}]", _INTRODUCTION, facts, *changed.files.values()]
    return "\n\n".join(filter(None, parts))


def _by_path(instruction: Instruction) -> tuple[str, str]:
    text = quoted_file(instruction)
    found = _FILE.match(text)
    return (found[1] if found else str(instruction.path)), text


def _quoted(path: str, text: str) -> str:
    return quoted_file(Instruction(Path(path), text))
