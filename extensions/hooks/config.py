"""Hooks as files declare them: in settings of Claude Code, in plugins, and as `[hooks]` in TOML.

Source: https://code.claude.com/docs/en/hooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from harness.messages import JsonObject, JsonValue
from http_client.addresses import shown_address

HookEvent: TypeAlias = Literal[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "Notification",
    "TurnsElapsed",
]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
_BY_NAME: Mapping[str, HookEvent] = {event: event for event in EVENTS}
RUN_EVENTS = frozenset(("PreToolUse", "PostToolUse", "PostToolUseFailure", "PreCompact", "Stop", "TurnsElapsed"))
"""Events of one run, for which skills, commands and subagents may have hooks."""
PROMPT_EVENTS = RUN_EVENTS | {"UserPromptSubmit", "SubagentStop"}
"""Events that a hook of type `prompt` can decide about."""
TOOL_EVENTS: tuple[HookEvent, ...] = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
# fmt: off
OTHER_EVENTS = frozenset((
    "ConfigChange", "CwdChanged", "DirectoryAdded", "Elicitation", "ElicitationResult", "FileChanged",
    "InstructionsLoaded", "MessageDisplay", "PermissionDenied", "PermissionRequest", "PostCompact", "PostModelSwitch",
    "PostToolBatch", "PreModelSwitch", "Setup", "StopFailure", "TaskCompleted", "TaskCreated",
    "TeammateIdle", "UserPromptExpansion", "WorktreeCreate", "WorktreeRemove",
))
# fmt: on
"""Events of Claude Code that cinch does not have."""

MANAGED = "managed"
"""Level of the administrator's file."""
TIMEOUT_S, PROMPT_TIMEOUT_S = 60.0, 30.0
LONGEST_TIMEOUT_S = 600.0
END_TIMEOUT_S, LONGEST_END_TIMEOUT_S = 1.5, 60.0
"""Time limit at SessionEnd, which delays quitting, and its maximum."""
TURNS = 10
"""Number of turns between two TurnsElapsed events."""
MOST_HANDLERS = 200
"""Maximum number of hooks in one file."""


class HookSource(Struct, frozen=True):
    """File that declares hooks."""

    path: Path
    """The file."""
    level: str
    """Whose it is: `user`, `project`, `local`, `managed` or `plugin`."""
    is_trusted: bool = True
    """False if its hooks must not run."""
    root: Path | None = None
    """Folder of the plugin; None for other files."""
    project: Path | None = None
    """Folder of the project that the file belongs to; None for other files."""


class HookHandler(Struct, frozen=True):
    """A command, an endpoint or a question to a model, with the event it is for."""

    event: HookEvent
    """Event at which it runs."""
    source: HookSource
    """File that declares it."""
    matcher: str = ""
    """Tools, or kinds of the event, for which it runs; empty for all."""
    condition: str = ""
    """Permission rule that calls must match."""
    command: str = ""
    """Shell command, or with `args` a program; empty for others."""
    args: tuple[str, ...] | None = None
    """Arguments of the program, which runs without a shell; None for a shell command."""
    url: str = ""
    """Address of the endpoint."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers for the endpoint, which may name variables: `$NAME` or `${NAME}`."""
    variables: frozenset[str] = frozenset()
    """Environment variables that the headers may name."""
    allow_http: bool = False
    """True to allow an endpoint on another machine without encryption."""
    timeout_s: float | None = None
    """Time limit in seconds; None for the default of the event."""
    in_background: bool = False
    """True to continue without waiting."""
    wakes: bool = False
    """True to report exit code 2 of a hook in the background to the model."""
    turns: int = TURNS
    """Number of turns after which TurnsElapsed runs it."""
    prompt: str = ""
    """Question to a model; `$ARGUMENTS` in it stands for the event."""
    model: str = ""
    """Model that is asked; empty for the small one of the provider in use."""

    @property
    def target(self) -> str:
        """The command line, the address, or the question."""
        if self.prompt:
            return self.prompt
        return shown_address(self.url) if self.url else " ".join((self.command, *(self.args or ())))

    @property
    def limit_s(self) -> float:
        """Time limit in seconds."""
        if self.event == "SessionEnd":
            return min(self.timeout_s or END_TIMEOUT_S, LONGEST_END_TIMEOUT_S)
        return self.timeout_s or (PROMPT_TIMEOUT_S if self.prompt else TIMEOUT_S)

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for hooks that do the same: only one of them runs."""
        return (self.command, self.args, self.url, self.prompt, self.model, self.condition, self.source.root)


class LoadedHooks(Struct):
    """Hooks of one or more files."""

    handlers: list[HookHandler] = field(default_factory=list[HookHandler])
    """Hooks in the order of the files."""
    problems: list[str] = field(default_factory=list[str])
    """Mistakes in the files."""
    unsupported: list[str] = field(default_factory=list[str])
    """Hooks of Claude Code that cinch cannot run, for `/hooks`."""
    disabled_by: Path | None = None
    """File that turns all hooks off but those of the administrator."""

    @property
    def usable(self) -> tuple[HookHandler, ...]:
        """Hooks that may run."""
        trusted = (each for each in self.handlers if each.source.is_trusted)
        return tuple(each for each in trusted if not self.disabled_by or each.source.level == MANAGED)


def add_hooks(loaded: LoadedHooks, events: JsonValue, source: HookSource) -> None:
    """Add the hooks of a file.

    Args:
        loaded: Receives the hooks and the problems.
        events: The value of `hooks`: groups of hooks by event.
        source: The file.
    """
    reader = _Reader(loaded, source)
    if not isinstance(events, dict):
        reader.problem("hooks", "is not a table of events")
        return
    for event, groups in events.items():
        reader.add_event(event, groups)


def run_hooks(events: JsonValue, source: HookSource) -> LoadedHooks:
    """Return the hooks in the metadata of a skill, command or subagent.

    Args:
        events: The value of `hooks`: groups of hooks by event.
        source: The file.
    """
    loaded = LoadedHooks()
    add_hooks(loaded, events, source)
    others = sorted({each.event for each in loaded.handlers} - RUN_EVENTS)
    loaded.problems += [f"{source.path}: hooks.{event} is no event of a run" for event in others]
    loaded.handlers = [each for each in loaded.handlers if each.event in RUN_EVENTS]
    return loaded


class _Reader:
    def __init__(self, loaded: LoadedHooks, source: HookSource) -> None:
        self._loaded = loaded
        self._source = source
        self._left = MOST_HANDLERS

    def problem(self, where: str, text: str) -> None:
        self._loaded.problems.append(f"{self._source.path}: {where} {text}")

    def add_event(self, event: str, groups: JsonValue) -> None:
        known = _BY_NAME.get(event)
        if known is None and event in OTHER_EVENTS:
            self._unsupported(f"{event} is an event that cinch does not have")
        elif known is None:
            self.problem(f"hooks.{event}", f"is not an event; use one of {', '.join(EVENTS)}")
        elif not isinstance(groups, list):
            self.problem(f"hooks.{event}", "is not a list")
        else:
            for number, group in enumerate(groups):
                self._add_group(known, group, f"hooks.{event}[{number}]")

    def _add_group(self, event: HookEvent, group: JsonValue, where: str) -> None:
        if not isinstance(group, dict):
            self.problem(where, "is not a table")
            return
        matcher = group.get("matcher") or ""
        if not isinstance(matcher, str) or not _is_pattern(matcher):
            self.problem(where, f"has an invalid matcher: {matcher!r}")
            return
        if not ({"hooks", "command", "url", "prompt", "type"} & group.keys()):
            self.problem(where, "has no hooks")
            return
        # A group in TOML may be the hook itself.
        entries = group.get("hooks", [group])
        if not isinstance(entries, list):
            self.problem(where, "has hooks that are not a list")
            return
        for entry in entries:
            if handler := self._handler(event, matcher, entry, where):
                self._loaded.handlers.append(handler)

    def _handler(self, event: HookEvent, matcher: str, entry: JsonValue, where: str) -> HookHandler | None:
        if not isinstance(entry, dict):
            self.problem(where, "has a hook that is not a table")
            return None
        kind = entry.get("type") or ("http" if "url" in entry else "prompt" if "prompt" in entry else "command")
        if kind not in ("command", "http", "prompt"):
            self._unsupported(f"{event} has a hook of type {kind!r}, which cinch does not have")
            return None
        self._left -= 1
        if self._left < 0:
            if self._left == -1:
                self.problem("hooks", f"has more than {MOST_HANDLERS} hooks; the others are not used")
            return None
        try:
            read = _asking if kind == "prompt" else _requesting if kind == "http" else _executing
            return read(HookHandler(event, self._source, matcher), entry)
        except ValueError as error:
            self.problem(where, str(error))
            return None

    def _unsupported(self, text: str) -> None:
        self._loaded.unsupported.append(f"{self._source.path}: {text}")


def _executing(handler: HookHandler, entry: JsonObject) -> HookHandler:
    """Return a hook with the command that an entry declares; raises as `_with_limits`."""
    command, wakes = _text(entry, "command"), entry.get("asyncRewake") is True
    if not command.strip():
        raise ValueError("has a hook without a command")
    return replace(
        _with_limits(handler, entry),
        command=command,
        args=None if entry.get("args") is None else tuple(_texts(entry, "args")),
        in_background=wakes or entry.get("async") is True,
        wakes=wakes,
    )


def _requesting(handler: HookHandler, entry: JsonObject) -> HookHandler:
    """Return a hook with the endpoint that an entry declares; raises as `_with_limits`."""
    url = _text(entry, "url")
    if not re.match(r"https?://[^/]", url):
        raise ValueError("needs a url that begins with https:// or http://")
    return replace(
        _with_limits(handler, entry),
        url=url,
        headers=_headers(entry.get("headers")),
        variables=frozenset(_texts(entry, "allowedEnvVars")),
        allow_http=entry.get("allow_http") is True,
    )


def _asking(handler: HookHandler, entry: JsonObject) -> HookHandler:
    """Return a hook with the question that an entry declares; raises as `_with_limits`."""
    prompt = _text(entry, "prompt")
    if not prompt.strip():
        raise ValueError("has a hook without a prompt")
    if handler.event not in PROMPT_EVENTS:
        raise ValueError(f"has a hook of type prompt, which decides nothing at {handler.event}")
    return replace(_with_limits(handler, entry), prompt=prompt, model=_text(entry, "model"))


def _with_limits(handler: HookHandler, entry: JsonObject) -> HookHandler:
    """Return a hook with the keys of all types.

    Raises:
        ValueError: A value is missing or of the wrong type; the text continues a sentence about the entry.
    """
    return replace(
        handler,
        condition=_text(entry, "if"),
        timeout_s=_number(entry, "timeout", LONGEST_TIMEOUT_S),
        turns=int(_number(entry, "turns", 1_000_000) or TURNS),
    )


def _text(entry: JsonObject, name: str) -> str:
    value = entry.get(name, "")
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"needs a text for {name}, not {value!r}")
    return value


def _texts(entry: JsonObject, name: str) -> Iterator[str]:
    value = entry.get(name) or []
    if not isinstance(value, list):
        raise ValueError(f"needs a list of texts for {name}")
    for each in value:
        if not isinstance(each, str) or "\0" in each:
            raise ValueError(f"needs a list of texts for {name}")
        yield each


def _headers(value: JsonValue) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("needs a table of texts for headers")
    headers: dict[str, str] = {}
    for name, text in value.items():
        if not isinstance(text, str) or re.search(r"[\r\n]", name + text):
            raise ValueError("needs a table of texts for headers")
        headers[name] = text
    return headers


def _number(entry: JsonObject, name: str, most: float) -> float | None:
    """Return a positive number, at most `most`; None if it is not set."""
    value = entry.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"needs a positive number for {name}, not {value!r}")
    return min(float(value), most)


def _is_pattern(matcher: str) -> bool:
    try:
        re.compile("" if matcher == "*" else matcher)
    except re.error:
        return False
    return True
