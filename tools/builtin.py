"""Table of the built-in tools; each is imported when it is first called.

Most runs call few tools, so their modules and dependencies are not imported at the start. Until a call, `manifest.json`
supplies label and schema; `make snapshots` generates it, and a test compares it with the tools.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from harness.ports.tool import Revisable, Tool, is_deferred
from tools.shell_options import DEFAULT_SHELL, ShellOptions

if TYPE_CHECKING:
    from harness.messages import JsonObject
    from harness.ports.tool import ToolContext, ToolOutput
    from harness.risk import Risk
    from harness.views import View
    from tools.compression import Compression
    from tools.lsp.servers import LanguageServers
    from tools.post_edit import PostEditStep
    from tools.web.options import WebOptions

FOLDER = Path(__file__).parent
MANIFEST = FOLDER / "manifest.json"

CLASSES = {
    "read_file": "tools.read:ReadTool",
    "write_file": "tools.write:WriteTool",
    "edit_file": "tools.edit:EditTool",
    "notebook_edit": "tools.notebook_edit:NotebookEditTool",
    "move_file": "tools.transfer:MoveTool",
    "copy_file": "tools.transfer:CopyTool",
    "delete_file": "tools.delete:DeleteTool",
    "list_files": "tools.list:ListTool",
    "find_files": "tools.find:FindTool",
    "grep": "tools.grep:GrepTool",
    "find_symbol": "tools.find_symbol:SymbolTool",
    "repo_map": "tools.repo_map:MapTool",
    "bash": "tools.bash:BashTool",
    "job_output": "tools.jobs:JobOutputTool",
    "job_input": "tools.job_input:JobInputTool",
    "job_kill": "tools.jobs:JobKillTool",
    "recall": "tools.recall:RecallTool",
    "todo": "tools.todo:TodoTool",
    "git_status": "tools.git_tools:GitStatusTool",
    "git_diff": "tools.git_tools:GitDiffTool",
    "git_log": "tools.git_tools:GitLogTool",
    "git_branch": "tools.git_tools:GitBranchTool",
    "git_commit": "tools.git_commit:GitCommitTool",
    "git_checkout": "tools.git_tools:GitCheckoutTool",
    "lsp": "tools.lsp.tool:LspTool",
    "web_fetch": "tools.web.fetch:FetchTool",
    "web_search": "tools.web.search:SearchTool",
    "ask_user": "tools.ask:AskTool",
    "delegate_subagent": "tools.delegate:DelegateTool",
    "submit_plan": "tools.plan:PlanTool",
}
"""Module and class of each tool, in the order a model sees them."""
OPTIONAL_CLASSES = {
    "apply_patch": "tools.apply_patch:ApplyPatchTool",
    "think": "tools.think:ThinkTool",
    "prun": "tools.prun:PrunTool",
    "prun_with_memo": "tools.prun:PrunWithMemoTool",
    "revert_to_state": "tools.revert:RevertTool",
}
"""Module and class of the tools that are offered only on request."""


_EACH_ALONE, _PERSISTENT = "bash_state", "bash_state_persistent"
"""Names of the part of the description of bash about its state, and of the one that replaces it."""


class ToolOptions(NamedTuple):
    """Options of the built-in tools; see `tools.builtin_tools`."""

    secrets: Callable[[], Iterable[str]] = tuple
    """Returns the names of environment variables that are hidden from commands."""
    compression: Compression = "aggressive"
    """Compression of the output of commands."""
    web: WebOptions | None = None
    """Options of the web tools; None for the defaults."""
    symbol_cache: Path | None = None
    """Folder of the symbol indexes; None to read all files each time."""
    servers: LanguageServers | None = None
    """Language servers; None if there are none."""
    steps: Sequence[PostEditStep] = ()
    """Steps after each change of files by a tool."""
    shell: ShellOptions = DEFAULT_SHELL
    """Options of the shell that commands run in."""


DEFAULTS = ToolOptions()


class BuiltinTool(Tool, Protocol):
    """A tool that validates with the schema of the manifest: generating one takes longer than a first call."""

    def validate_with_schema(self, schema: JsonObject, arguments: JsonObject) -> JsonObject: ...


def create_tool(name: str, options: ToolOptions = DEFAULTS) -> BuiltinTool:
    """Import a tool and create it."""
    from pkgutil import resolve_name  # not needed before the first call

    tool_class: Callable[..., BuiltinTool] = resolve_name((CLASSES | OPTIONAL_CLASSES)[name])
    match name:
        case "lsp":
            return tool_class(options.servers, options.steps)
        case "edit_file" | "write_file" | "apply_patch" | "notebook_edit":
            return tool_class(options.steps)
        case "find_symbol" | "repo_map":
            return tool_class(options.symbol_cache)
        case "bash":
            return tool_class(options.secrets(), options.compression, options.shell)
        case _ if name.startswith("git_"):
            return tool_class(options.secrets(), options.compression)
        case _ if name.startswith("web_"):
            return tool_class(options.web)
        case _:
            return tool_class()


class LazyTool(Revisable):
    """Proxy of a built-in tool."""

    def __init__(self, name: str, options: ToolOptions = DEFAULTS) -> None:
        manifest = _manifests()[name]
        self.name = name
        self.label = manifest.label
        self.mutates: bool | Literal["by_call"] = manifest.mutates
        self.deferred = manifest.deferred
        self.hosting = options.web.hosting if options.web and name == "web_search" else ""
        self.parameters = manifest.parameters
        self._options = options
        self.keeps_state = name == "bash" and options.shell.persistent
        self._create = partial(create_tool, name, options)
        self._loaded: BuiltinTool | None = None

    @property
    def description(self) -> str:
        text = description_of(self.name)
        return text.replace(description_of(_EACH_ALONE), description_of(_PERSISTENT)) if self.keeps_state else text

    def renewed(self) -> LazyTool:
        """Return this tool without the state of its calls."""
        return LazyTool(self.name, self._options) if self.keeps_state else self

    def load(self) -> BuiltinTool:
        """Return the tool itself; may be called from any thread."""
        if self._loaded is None:
            self._loaded = self._create()
        return self._loaded

    def validate(self, arguments: JsonObject) -> JsonObject:
        return self.load().validate_with_schema(self.parameters, arguments)

    def summary(self, arguments: JsonObject) -> str:
        return self.load().summary(arguments)

    def risk(self, arguments: JsonObject) -> Risk:
        return self.load().risk(arguments)

    async def preview(self, arguments: JsonObject, context: ToolContext) -> View | ToolOutput | None:
        return await self.load().preview(arguments, context)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await self.load().run(arguments, context)

    def revised(self, arguments: JsonObject, view: View, text: str) -> JsonObject | None:
        tool = self.load()
        return tool.revised(arguments, view, text) if isinstance(tool, Revisable) else None


def all_tools() -> list[Tool]:
    """Return every built-in tool, whatever it needs to run, for what concerns names, schemas and risks."""
    return [LazyTool(name) for name in (*CLASSES, *OPTIONAL_CLASSES)]


@cache
def description_of(name: str) -> str:
    """Return the description of a tool for the model."""
    return (FOLDER / "descriptions" / f"{name}.md").read_text(encoding="utf-8").strip()


class _ToolManifest(NamedTuple):
    label: str
    mutates: bool | Literal["by_call"]
    deferred: bool
    parameters: JsonObject


@cache
def _manifests() -> dict[str, _ToolManifest]:
    return {name: _ToolManifest(**fields) for name, fields in json.loads(MANIFEST.read_text(encoding="utf-8")).items()}


def manifest_text() -> str:
    """Return the content of `manifest.json` for the tools as they are."""
    tools = map(create_tool, (*CLASSES, *OPTIONAL_CLASSES))
    manifests = {
        tool.name: _ToolManifest(tool.label, tool.mutates, is_deferred(tool), tool.parameters)._asdict()
        for tool in tools
    }
    return json.dumps(manifests, ensure_ascii=False, indent=1) + "\n"


if TYPE_CHECKING:
    _: type[Tool] = LazyTool

if __name__ == "__main__":
    MANIFEST.write_text(manifest_text(), encoding="utf-8")
