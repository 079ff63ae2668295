"""Git tools: status, diff, log, branches and checkout.

Each call is a command line of git, assessed as one of bash, so permission rules for `bash(git …)` cover it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from harness.messages import JsonObject, Text
from harness.permissions import SHELL
from harness.ports.tool import ToolContext, ToolOutput
from harness.risk import Risk
from harness.views import TextView, View
from tools.bash import prepared
from tools.command_execution import Command, CommandExecution, CommandRun
from tools.compression import Compression
from tools.output import CapturedOutput
from tools.shell.analysis import analyze
from tools.shell_command import run_command
from tools.typed import Parameters, TypedTool

READ_SECONDS = 120.0
HOOK_SECONDS = 600.0
"""Time limit of commands that run hooks of the repository, which may run its tests."""

HINTS = (
    (
        "Please tell me who you are|no (email|name) was given|auto-detection is disabled",
        "git does not know the name and email address of the user. Ask for them; do not invent them.",
    ),
    (
        "partial commit during a",
        "During a merge, git commits all of it or nothing. Stage the resolved files with `git add`, then commit "
        "without paths.",
    ),
    ("is in submodule", "Commit in the submodule with `git -C`, then the submodule itself."),
    (r"\[detached HEAD ", "No branch contains this commit. git_checkout with create=true creates one here."),
    ("^HEAD is now at ", "HEAD is detached: a commit made now would be on no branch."),
    ("does not have any commits yet", "The repository has no commit yet."),
)
"""Regular expressions of git's output, with what it means for the model."""

NO_REPOSITORY = "The workspace is not a git repository."

_PREVIEW_CHARS = 100_000
_REF = re.compile(r"[^\s\x00-\x1f\x7f:?*\[\\~^-][^\s\x00-\x1f\x7f:?*\[\\]*")
_NEW_BRANCH = re.compile(r"(?!.*(?:\.\.|@\{|//))[^\s\x00-\x1f\x7f:?*\[\\~^-][^\s\x00-\x1f\x7f:?*\[\\~^]*")

Path = Annotated[str, Meta(min_length=1)]


def _check_ref(name: str, value: str | None, pattern: re.Pattern[str] = _REF) -> None:
    """Check that a value cannot be an option or a pathspec.

    Raises:
        ValueError: It can.
    """
    if value is not None and not pattern.fullmatch(value):
        what = "a branch, tag or commit" if pattern is _REF else "a valid name for a branch"
        raise ValueError(f"{name}: {value!r} is not {what}")


class StatusArguments(Parameters):
    short: Annotated[bool, Meta(description="One line per file.")] = False


class DiffArguments(Parameters):
    staged: Annotated[bool, Meta(description="Changes that are staged, instead of those that are not.")] = False
    path: Annotated[Path | None, Meta(description="File or folder; default: all.")] = None
    ref: Annotated[str | None, Meta(description="Compare with this commit, or two: main...HEAD.")] = None

    def __post_init__(self) -> None:
        _check_ref("ref", self.ref)


class LogArguments(Parameters):
    count: Annotated[int, Meta(ge=1, le=200, description="Number of commits.")] = 10
    oneline: Annotated[bool, Meta(description="Hash and subject only.")] = False
    path: Annotated[Path | None, Meta(description="Only commits that change this file or folder.")] = None
    ref: Annotated[str | None, Meta(description="Branch, commit or range: main..HEAD.")] = None

    def __post_init__(self) -> None:
        _check_ref("ref", self.ref)


class BranchArguments(Parameters):
    create: Annotated[str | None, Meta(description="Create this branch, without a checkout.")] = None
    start_point: Annotated[str | None, Meta(description="Commit the new branch starts at; default: HEAD.")] = None
    delete: Annotated[str | None, Meta(description="Delete this branch if it is merged.")] = None

    def __post_init__(self) -> None:
        _check_ref("create", self.create, _NEW_BRANCH)
        _check_ref("start_point", self.start_point)
        _check_ref("delete", self.delete)
        if self.create and self.delete:
            raise ValueError("arguments: pass create or delete, not both")
        if self.start_point and not self.create:
            raise ValueError("start_point: only with create")


class CheckoutArguments(Parameters):
    target: Annotated[str, Meta(description="Branch, tag or commit.")]
    create: Annotated[bool, Meta(description="Create the branch at HEAD.")] = False

    def __post_init__(self) -> None:
        _check_ref("target", self.target, _NEW_BRANCH if self.create else _REF)


P = TypeVar("P", bound=Parameters)


class GitTool(TypedTool[P]):
    """Base class of the git tools.

    Args:
        secrets: Names of environment variables that are hidden from git and hooks, in addition to the keys of known
            model services.
        compression: Compression of the output of hooks.
    """

    deferred = True
    seconds = READ_SECONDS
    reason = ""
    """Reason for approval; empty for the one of bash."""

    def __init__(self, secrets: Iterable[str] = (), compression: Compression = "aggressive") -> None:
        self._secrets = frozenset(secrets)
        self._compression: Compression = compression

    def words_of(self, arguments: P) -> Sequence[str]:
        """Return the words after `git`."""
        raise NotImplementedError

    def command_line(self, arguments: P) -> str:
        """Return the command line, as users and permission rules see it."""
        return shlex.join(("git", *self.words_of(arguments)))

    def branch_of(self, arguments: P) -> str:
        """Return the branch that permission rules may name; empty for none."""
        return ""

    def run_line(self, arguments: P) -> str:
        """Return the command line to run."""
        return self.command_line(arguments)

    def risk_of(self, arguments: P) -> Risk:
        risk = analyze(self.command_line(arguments)).risk
        reason = self.reason or risk.reason
        return replace(risk, rule_name=SHELL, operand=self.branch_of(arguments), reason=reason)

    async def preview_of(self, arguments: P, context: ToolContext) -> View | ToolOutput | None:
        # Not a terminal view, which users may rewrite: the arguments cannot express every command line.
        return TextView(self.command_line(arguments), language="bash")

    async def execute(self, arguments: P, context: ToolContext) -> ToolOutput:
        line = self.run_line(arguments)
        compression: Compression = self._compression if self.mutates is True else "off"
        run = await self.runner(arguments, context)
        command = Command(self.name, line, run, compression, states_success=False)
        output = await CommandExecution(command, context).execute(self.seconds)
        text = "".join(block.text for block in output.content if isinstance(block, Text))
        is_error = output.is_error or bool(output.details and output.details.get("exit_code"))
        if is_error and "Not a git repository" in text:
            # git diff prints all its options.
            return ToolOutput.failure(NO_REPOSITORY)
        hint = hint_for(text)
        content = (*output.content, Text(f"\n{hint}")) if hint else output.content
        return replace(output, content=content, is_error=is_error)

    async def runner(self, arguments: P, context: ToolContext) -> CommandRun:
        """Return what runs the command line."""
        return partial(run_command, await prepared(self.run_line(arguments), context, self._secrets, is_git_tool=True))

    async def read(self, line: str, context: ToolContext) -> tuple[int, str]:
        """Return exit code and output of a command that only reads; a long output is cut."""
        captured = CapturedOutput(_PREVIEW_CHARS, context.spill_dir / "git-preview.txt")
        command = await prepared(line, context, self._secrets, is_git_tool=True)
        result = await run_command(command, captured.feed)
        captured.close()
        return result.exit_code, captured.text()


class GitStatusTool(GitTool[StatusArguments]):
    name = "git_status"
    label = "Git status"
    Arguments = StatusArguments

    def words_of(self, arguments: StatusArguments) -> Sequence[str]:
        return ("status", *(("--short", "--branch") if arguments.short else ()))


class GitDiffTool(GitTool[DiffArguments]):
    name = "git_diff"
    label = "Git diff"
    Arguments = DiffArguments

    def summary(self, arguments: JsonObject) -> str:
        return " ".join(
            ("staged" if arguments.get("staged") is True else "", *_texts(arguments, "ref", "path"))
        ).strip()

    def words_of(self, arguments: DiffArguments) -> Sequence[str]:
        options = ("--no-ext-diff", "--no-textconv", *(("--cached",) if arguments.staged else ()))
        return ("diff", *options, *_given(arguments.ref), "--", *_given(arguments.path))


class GitLogTool(GitTool[LogArguments]):
    name = "git_log"
    label = "Git log"
    Arguments = LogArguments

    def summary(self, arguments: JsonObject) -> str:
        return " ".join(_texts(arguments, "ref", "path"))

    def words_of(self, arguments: LogArguments) -> Sequence[str]:
        options = ("-n", str(arguments.count), *(("--oneline",) if arguments.oneline else ()))
        return ("log", *options, *_given(arguments.ref), "--", *_given(arguments.path))


class GitBranchTool(GitTool[BranchArguments]):
    name = "git_branch"
    label = "Git branch"
    mutates = "by_call"
    Arguments = BranchArguments

    def summary(self, arguments: JsonObject) -> str:
        return " ".join(f"{name} {text}" for name in ("create", "delete") for text in _texts(arguments, name))

    def branch_of(self, arguments: BranchArguments) -> str:
        return arguments.create or arguments.delete or ""

    def words_of(self, arguments: BranchArguments) -> Sequence[str]:
        if arguments.create:
            return ("branch", arguments.create, *_given(arguments.start_point))
        return ("branch", "-d", arguments.delete) if arguments.delete else ("branch", "--list", "--all", "-vv")


class GitCheckoutTool(GitTool[CheckoutArguments]):
    name = "git_checkout"
    label = "Git checkout"
    mutates = True
    seconds = HOOK_SECONDS
    reason = "it changes the files of the workspace to those of another commit"
    Arguments = CheckoutArguments

    def branch_of(self, arguments: CheckoutArguments) -> str:
        return arguments.target

    def words_of(self, arguments: CheckoutArguments) -> Sequence[str]:
        return ("checkout", "-b", arguments.target) if arguments.create else ("checkout", arguments.target)

    def run_line(self, arguments: CheckoutArguments) -> str:
        if arguments.create:
            return self.command_line(arguments)
        # After the target, `--` keeps git from taking it for a file to restore.
        return shlex.join(("git", "checkout", "--no-overwrite-ignore", arguments.target, "--"))

    def risk_of(self, arguments: CheckoutArguments) -> Risk:
        # Never "dangerous", as some command lines like it: git refuses to overwrite uncommitted changes.
        return replace(super().risk_of(arguments), level="execute", removals=())


def _given(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


def hint_for(text: str) -> str:
    """Return what an output of git means for the model; empty if it is clear."""
    return next((hint for pattern, hint in HINTS if re.search(pattern, text, re.MULTILINE)), "")


def _texts(arguments: JsonObject, *names: str) -> list[str]:
    return [value for name in names if isinstance(value := arguments.get(name), str) and value]
