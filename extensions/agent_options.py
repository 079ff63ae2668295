"""Agents of programs, built from agent files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields, replace

from extensions.agent_files import AgentFile
from extensions.variables import expand_variables
from harness.agent.agent import Agent
from harness.agent.arguments import ToolLike, tool_list
from harness.agent.options import AgentOptions
from harness.agent.retry import RetryPolicy
from harness.approval.modes import EXECUTE, PLAN, ApprovalMode, Planning
from harness.approval.rules import parse_rule
from harness.approval.store import RuleStore
from harness.errors import ConfigError
from harness.permissions import Effect, RuleSource
from harness.ports.provider import Model
from harness.ports.tool import Role
from harness.thinking_level import ThinkingLevel

S = TypeVar("S", bound=Struct)
T = TypeVar("T")

PlanEnd: TypeAlias = Literal["execute", "stop"]
_EFFECTS: tuple[Effect, ...] = ("allow", "ask", "deny")
_LIMITS = {"max_seconds": "max_duration_s", "max_cost": "max_cost_usd"}
_EXECUTION = {"timeout": "timeout_s", "cache_turns": "cache_ttl_turns"}
_SUBAGENTS = {"token_budget": "max_tokens"}


class Connect(Protocol):
    """Function that connects a model by name, such as `providers.connect`."""

    def __call__(self, name: str, /, *, thinking: ThinkingLevel) -> Model: ...


def create_agent(
    file: AgentFile,
    connect: Connect,
    tools: Sequence[ToolLike] = (),
    options: AgentOptions = AgentOptions(),
    environ: Mapping[str, str] = os.environ,
) -> Agent:
    """Create the agent that a file describes.

    Args:
        file: The file, from `read_agent_file`.
        connect: Connects its model.
        tools: Tools that the file may choose from.
        options: Options that apply unless the file sets them.
        environ: Variables for `${VAR}` in its settings.

    Raises:
        ConfigError: The file names no model, or a setting is unknown or has a wrong value; with the file, the key, and
            what is allowed.
    """
    if file.role.skills:
        raise ConfigError(f"{file.role.path}: skills: programs have none; put the instructions into system_prompt")
    values = _Values(file, environ)
    name = values.take("model.name", str, "")
    if not name:
        raise ConfigError(f"{file.role.path}: model is missing; name one as provider/model")
    thinking: ThinkingLevel = values.take("model.thinking", ThinkingLevel, "off")
    enabled = values.take("tools.enabled", tuple[str, ...] | None, None)
    role = Role(allowed_tools=enabled, denied_tools=values.take("tools.disabled", tuple[str, ...], ()))
    options = _with(values, options)
    values.finish()
    chosen = [tool for tool in tool_list(tools) if role.allows(tool)]
    prompt = {"system_prompt": file.system_prompt} if file.system_prompt else {}
    return Agent(connect(name, thinking=thinking), chosen, options=options, **prompt)


def _with(values: _Values, options: AgentOptions) -> AgentOptions:
    """Return the options with the settings of a file."""
    # For the app only: print mode has a limit of its own.
    values.take("limits.max_turns_headless", int, 0)
    rules = [
        parse_rule(text, effect, RuleSource("flag", str(values.path)))
        for effect in _EFFECTS
        for text in values.take(f"permissions.{effect}", tuple[str, ...], ())
    ]
    grants = options.grants
    if rules:
        grants = RuleStore(rules=[*(grants.rules if grants else ()), *rules])
    plans = values.take("plan.enabled", bool, options.mode is PLAN)
    retry = options.retry
    if isinstance(retry, RetryPolicy):
        retry = replace(retry, max_retries=values.take("retry.max_retries", int, retry.max_retries))
    return replace(
        options,
        approval=values.take("approval.mode", ApprovalMode, options.approval),
        grants=grants,
        mode=PLAN if plans else EXECUTE,
        planning=_planning(values, options.planning),
        max_tokens=values.take("model.max_tokens", int, options.max_tokens or 0) or None,
        retry=retry,
        limits=values.changed("limits", options.limits, _LIMITS),
        execution=values.changed("tools", options.execution, _EXECUTION),
        subagents=values.changed("subagents", options.subagents, _SUBAGENTS),
        window=values.changed("context", options.window, {}),
    )


def _planning(values: _Values, planning: Planning) -> Planning:
    ends: dict[PlanEnd, Literal["end", "execute"]] = {"stop": "end", "execute": "execute"}
    default: PlanEnd = "stop" if planning.on_limit == "end" else "execute"
    end: PlanEnd = values.take("plan.when_exhausted", PlanEnd, default)
    return replace(planning, max_turns=values.take("plan.max_turns", int, planning.max_turns), on_limit=ends[end])


class _Values:
    """Settings of a file; each is taken once."""

    def __init__(self, file: AgentFile, environ: Mapping[str, str]) -> None:
        self.path = file.role.path
        self._left = dict(file.settings)
        self._known: list[str] = []
        self._environ = environ

    # Any: `kind` may be a union, which is no type, and msgspec converts to what it describes.
    def take(self, name: str, kind: Any, default: T) -> T:
        self._known.append(name)
        if name not in self._left:
            return default
        value = self._left.pop(name)
        try:
            found: object = convert(expand_variables(value, self._environ), kind, strict=False)
        except ValidationError as error:
            raise ConfigError(f"{self.path}: {name}: {str(error)[:1].lower()}{str(error)[1:]}") from None
        except ValueError as error:
            raise ConfigError(f"{self.path}: {name} {error}") from None
        # A limit of -1 or NaN would be no limit.
        if isinstance(found, int | float) and not (isfinite(found) and found >= 0):
            raise ConfigError(f"{self.path}: {name} must be at least 0, not {value}")
        return cast("T", found)

    def changed(self, table: str, value: S, names: Mapping[str, str]) -> S:
        """Return a struct with the settings of a table; `names` has those that are called otherwise."""
        changes: dict[str, object] = {}
        for field in fields(value):
            name = f"{table}.{names.get(field.name, field.name)}"
            changes[field.name] = self.take(name, field.type, getattr(value, field.name))
        return replace(value, **changes)

    def finish(self) -> None:
        """Raise if a setting is left that programs do not have."""
        for name in self._left:
            near = get_close_matches(name, self._known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"programs have {', '.join(sorted(self._known))}"
            raise ConfigError(f"{self.path}: unknown setting {name}; {hint}")
