"""A script tool: runs the program of a TOML file, with the arguments as JSON on its standard input."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from extensions.script_tools import Script
from harness.errors import ConfigError, InvalidArguments
from harness.function_tools.function_tool import OwnTool, words_of
from harness.function_tools.schema import Checker
from harness.messages import JsonObject
from harness.ports.tool import Tool, ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TerminalView, View
from tools.child_process import Program
from tools.command_execution import Command, CommandExecution
from tools.environment import command_environment, git_environment
from tools.shell_command import run_program


class ScriptTool(OwnTool):
    """Tool that runs a script.

    Args:
        script: The script.
        secrets: Names of environment variables that are hidden from commands, in addition to the keys of known model
            services.
    """

    def __init__(self, script: Script, secrets: Iterable[str] = ()) -> None:
        risk = "read" if script.read_only else "execute"
        label = words_of(script.name.replace("__", "_"))
        super().__init__(script.name, script.description, script.parameters, {"risk": risk, "label": label})
        self.script = script
        """The script."""
        self._secrets = frozenset(secrets)
        self._checker = Checker(script.name, script.parameters)

    def validate(self, arguments: JsonObject) -> JsonObject:
        try:
            return self._checker.check(arguments)
        except ConfigError as error:
            raise InvalidArguments(f"{self.script.path}: {error}") from error

    def risk(self, arguments: JsonObject) -> Risk:
        return replace(self._risk, subject=self.script.subject(arguments), access="by_level")

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return TerminalView(self.script.shown(arguments, context.workspace.root), "")

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        root = context.workspace.root
        program = await asyncio.to_thread(self._program, arguments, root)
        run = partial(run_program, program, json.dumps(arguments, ensure_ascii=False).encode())
        line = self.script.shown(arguments, root)
        command = Command(self.name, line, lambda sink: run(sink, sink), states_success=False)
        output = await CommandExecution(command, context).execute(self.script.timeout_s)
        return replace(output, is_error=output.is_error or bool(output.details and output.details.get("exit_code")))

    def _program(self, arguments: JsonObject, root: Path) -> Program:
        script = self.script
        places = script.places(root)
        environment = {**command_environment(os.environ, self._secrets), **places, **script.env}
        cwd = root
        if script.cwd:
            folder = script.cwd
            for name, path in places.items():
                folder = folder.replace(f"${{{name}}}", path)
            cwd = root / Path(folder).expanduser()
        words = script.words(arguments, root)
        if script.is_shell:
            words = (shutil.which("bash", path=environment.get("PATH")) or "/bin/sh", *words[1:])
        # Looking for drivers may run git itself.
        return Program(words, cwd, git_environment(environment, [cwd], "none"))


if TYPE_CHECKING:
    _: type[Tool] = ScriptTool
