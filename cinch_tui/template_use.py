"""Use of skills and commands of files: their text as a prompt, with the output of their commands, rules and model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from cinch_tui.attached_files import INSTRUCTIONS, attach_files
from cinch_tui.trust.prompt import may_run
from extensions.commands import FileCommand, command_template
from extensions.index_text import FileError, reason, shown
from extensions.prompt_templates import FilledTemplate, PromptTemplate
from extensions.skills import Skill, skill_template
from extensions.template_rules import template_rules
from harness.agent.arguments import messages_of
from harness.agent.guardrails import Reject
from harness.agent.run_state import AgentResult, Run, RunRequest
from harness.agent.single_call import execute_call
from harness.context.attachments import OPENING
from harness.errors import CinchError, ConfigError
from harness.execution.schedule import ResourceLocks
from harness.messages import Message, ModelSpec, Text, ToolCall, ToolResult, UserContent, new_id
from harness.permissions import SHELL, Rule

if TYPE_CHECKING:
    from cinch_tui.assembly.assembly import Assembly
    from cinch_tui.user_input import PromptUse
    from harness.ports.hooks import Hooks
    from harness.ports.provider import Model

Report: TypeAlias = Callable[[str], None]
CURRENT_MODEL = ("", "inherit", "default")
"""Names that mean the model of the session."""
MAX_ERROR_CHARS = 600


class TemplateUse(Struct, frozen=True):
    """A skill or a command of a file, as the user starts it."""

    assembly: Assembly
    """The agent to prompt."""
    source: Skill | FileCommand
    """The skill or command."""
    line: str
    """Line that the user typed."""
    arguments: str
    """Arguments in it."""

    @property
    def name(self) -> str:
        """Name of the skill or command, with a slash."""
        return f"/{self.source.name}"

    async def run(self, report: Report) -> AgentResult:
        """Prompt the agent, and wait for the end of the run; `report` receives problems.

        Raises:
            CinchError: Nothing was sent: the file cannot be used, one of its commands was denied or failed, or the user
                stopped it.
        """
        agent, template = self.assembly.agent, await self._template()
        preparation = _Preparation(self, template, report)
        model = await self._model(template.model, report)
        hooks = self._hooks(template)
        request = RunRequest(prepare=preparation, rules=self._rules(template, report), hooks=hooks, model=model)
        try:
            result = await agent.run(request)
        finally:
            if model is not None:
                await model.provider.close()
        if preparation.problem:
            raise CinchError(preparation.problem)
        return result

    async def steering(self, report: Report) -> tuple[UserContent, ...]:
        """Return the content of a message for the active run, which gets the rules of the template.

        Raises:
            CinchError: The file cannot be used, or it runs commands.
        """
        template = await self._template()
        filled = self.filled(template)
        if filled.commands:
            raise CinchError(f"{self.name} runs commands first, and has to wait until the agent is idle")
        if template.hooks:
            report(f"The hooks of {self.name} have no effect in a run that is active.")
        self.assembly.agent.state.permissions.store.add_for_run(self._rules(template, report))
        return await self.content(filled.text(()), report)

    async def content(self, text: str, report: Report) -> tuple[UserContent, ...]:
        """Return the content of the message: the typed line, the instructions, the files that are mentioned."""
        assembly = self.assembly
        path = shown(assembly.workspace.display(self.source.path)).replace('"', "'")
        instructions = (
            f'{OPENING}{path}" extent="{INSTRUCTIONS}">\nThe user started {self.name}. Follow these instructions.\n\n'
            f"{text}\n</attached>"
        )
        # What a skill mentions with @ is often no file.
        mentions = text if isinstance(self.source, FileCommand) else self.arguments
        files = await attach_files(mentions, assembly.agent, assembly.mcp.servers)
        for problem in files.skipped:
            report(problem)
        return (Text(self.line), Text(instructions), *files.content)

    def filled(self, template: PromptTemplate) -> FilledTemplate:
        """Return the template with the arguments and the variables of this use."""
        return template.fill(self.arguments, self._variables)

    @property
    def _variables(self) -> dict[str, str]:
        assembly = self.assembly
        own = {"CLAUDE_PROJECT_DIR": str(assembly.workspace.root), "CLAUDE_SESSION_ID": assembly.agent.session_id}
        return own | self.source.variables

    async def _template(self) -> PromptTemplate:
        source = self.source
        read = command_template if isinstance(source, FileCommand) else skill_template
        try:
            template = await asyncio.to_thread(read, source.path)
        except FileError as error:
            raise CinchError(f"{self.name} cannot be read: {reason(error)}") from error
        if template.needs_trust and not await is_trusted(self.assembly, source):
            raise CinchError(
                f"{self.name} was not sent: its file runs commands or allows calls, and has changed since you trusted "
                "it; /trust shows the change"
            )
        return template

    def _hooks(self, template: PromptTemplate) -> tuple[Hooks, ...]:
        source = self.source
        return self.assembly.hooks.of_run(template.hooks, source.path, source.level, source.plugin_root)

    def _rules(self, template: PromptTemplate, report: Report) -> tuple[Rule, ...]:
        found = template_rules(template, self.name, self._variables)
        for problem in found.problems:
            report(problem)
        return found.rules

    async def _model(self, name: str, report: Report) -> Model | None:
        """Connect the model that the file names; None for that of the session."""
        spec = self.assembly.agent.state.model.spec
        if name in CURRENT_MODEL or name in spec.name:
            return None
        try:
            return await asyncio.to_thread(self._connect, name, spec)
        except ConfigError as error:
            report(f"{self.name} names the model {shown(name)}, which is not available: {error}. {spec.name} answers.")
            return None

    def _connect(self, name: str, spec: ModelSpec) -> Model:
        from cinch_tui.models.offers import family_model  # it reads the price data

        family = family_model(name, spec.provider) if name.isalpha() else ""
        return self.assembly.connect(family or name, spec.thinking)


async def is_trusted(assembly: Assembly, source: Skill | FileCommand) -> bool:
    """Return True if a skill or command may run commands and allow calls.

    The content of a project's file at this moment must be what the user trusts: the model may have changed it.
    """
    if source.level != "project":
        return True
    return await asyncio.to_thread(may_run, assembly.options, assembly.workspace.root, source.path)


class _Preparation:
    """The first step of a run: executes the commands of a template, and completes its prompt."""

    def __init__(self, use: TemplateUse, template: PromptTemplate, report: Report) -> None:
        self.problem = f"{use.name} was stopped before it was sent"
        """Reason that nothing was sent; empty once the prompt is complete."""
        self._use = use
        self._filled = use.filled(template)
        self._report = report

    async def __call__(self, run: Run) -> tuple[Message, ...] | Reject:
        outputs: list[str] = []
        for command in self._filled.commands:
            call = ToolCall(new_id(), SHELL, {"command": command})
            result = await execute_call(run, call, ResourceLocks(()))
            if problem := _failure(result):
                self.problem = f"{self._use.name} was not sent: `{shown(command)}` {problem}"
                return Reject(self.problem)
            outputs.append(_output(result))
        content = await self._use.content(self._filled.text(outputs), self._report)
        self.problem = ""
        return messages_of(content)


def _failure(result: ToolResult) -> str:
    """Return why the output of a command cannot be used, as the end of a sentence; empty if it can."""
    code = (result.details or {}).get("exit_code")
    text = result.text if len(result.text) <= MAX_ERROR_CHARS else f"{result.text[:MAX_ERROR_CHARS]}…"
    if result.is_error:
        return f"did not run: {text}"
    return f"failed. {text}" if code else ""


def _output(result: ToolResult) -> str:
    """Return what a command printed, without the line about its exit code."""
    output = result.text.partition("\n")[2]
    return "" if output == "(no output)" else output.rstrip("\n")


if TYPE_CHECKING:
    _: type[PromptUse] = TemplateUse
