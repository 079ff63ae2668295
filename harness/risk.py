"""Risk of a tool call: what it may read, change or run."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

RiskLevel: TypeAlias = Literal["none", "read", "edit", "execute", "dangerous", "forbidden"]
"""Risk of a call, from harmless to never allowed.

- `none`: touches nothing outside the conversation
- `read`: reads files
- `edit`: changes files in the workspace
- `execute`: runs a program
- `dangerous`: destroys something, or changes a protected path; needs approval whatever the rules allow
- `forbidden`: never runs, in any mode
"""

Access: TypeAlias = Literal["by_level", "shared", "read", "exclusive"]
"""Locks of a call while it runs, against the other calls of its reply.

- `by_level`: derived from its risk level and `paths`
- `shared`: nothing; it runs concurrently with any other call
- `read`: it changes no file, whatever its level
- `exclusive`: everything; it runs alone
"""


PathKind: TypeAlias = Literal["read", "search", "list", "write"]
"""Kind of access to a path; `search` reads a folder recursively, `list` only names and sizes."""

Verdict: TypeAlias = Literal["read", "other"]
"""Effect of a command: `read` if it is known to change nothing."""


class PathAccess(Struct, frozen=True):
    """Access of a call to a path."""

    path: str
    """Path as the program receives it, relative to `cwd`."""
    kind: PathKind = "read"
    """Kind of access."""
    cwd: str = ""
    """Folder that the command entered with `cd`, relative to the workspace root."""
    is_pattern: bool = False
    """True for a shell glob, which is expanded when the access is checked."""
    skips_secrets: bool = False
    """True for a search that leaves out the secrets in its folder."""
    names: tuple[str, ...] = ()
    """Patterns of the names of the files that a search reads, such as `*.py`; empty for all files."""
    is_listed: bool = False
    """True if a program gets the names of files in a folder from a listing: it follows links, and blanks may split a
    name."""
    skips_links: bool = False
    """True if that listing contains no links."""
    skips_hidden: bool = False
    """True for a search that leaves out hidden files, unless the folder's ignore files include them."""
    texts: tuple[str, ...] = ()
    """Texts in lower case, of which one is in each file that a search shows lines of; empty: in any file."""
    refuses_dashes: bool = False
    """True for a glob of which no match may begin with a dash, because the program would take it for an option."""


Coverage: TypeAlias = Literal["any", "written", "exact"]
"""Rules for its first words that may cover a command.

- `any`: all of them
- `written`: those that the user wrote; an option makes it do more than its first words say
- `exact`: none; it runs a command that is not known, so only a rule for exactly its words covers it
"""


class SimpleCommand(Struct, frozen=True):
    """Simple command of a shell command line."""

    words: tuple[str, ...]
    """Words after quote removal, without wrappers such as `timeout`."""
    is_literal: bool = True
    """False if some word is known only at run time."""
    verdict: Verdict = "other"
    """Effect of the command."""
    why: str = ""
    """Reason for the verdict `other`, such as "option --output writes a file"."""
    wrappers: tuple[str, ...] = ()
    """Programs that run the command, outermost first, such as `timeout` and `env`."""
    prefix: tuple[str, ...] = ()
    """First words, as many as identify what it does; a permission rule for them may be offered. Empty: none."""
    redirects: tuple[str, ...] = ()
    """Files that its redirections write."""
    coverage: Coverage = "any"
    """Rules for its first words that may cover it."""
    is_known: bool = True
    """False if nothing is known about the program; it may run its arguments as a command."""


class Risk(Struct, frozen=True):
    """Risk assessment of one call: what it may read, change or run."""

    level: RiskLevel
    """Risk level."""
    reason: str = ""
    """Explanation for the user, shown in the approval dialog."""
    paths: tuple[str, ...] = ()
    """Files the call reads or changes, if known.

    Calls of one reply that change the same file run one after another; a call that changes files it cannot name runs
    alone, unless `access` says otherwise.
    """
    cacheable: bool = False
    """True if the same arguments give the same result until a call changes something or one of `paths` changes."""
    access: Access = "by_level"
    """Locks the call takes while it runs."""
    accesses: tuple[PathAccess, ...] = ()
    """Paths the call accesses, in addition to `paths`."""
    commands: tuple[SimpleCommand, ...] = ()
    """Simple commands of a shell command line, outermost first; empty if it could not be analyzed."""
    indirect: tuple[SimpleCommand, ...] = ()
    """For ask and deny rules: commands in texts that a shell may run, such as `eval 'rm x'` and `echo rm x | sh`, and
    other commands that do the same, such as `git switch x` for `git checkout x`."""
    removals: tuple[PathAccess, ...] = ()
    """Paths that the call deletes or moves with everything in them; it never runs if the workspace is among that."""
    programs: tuple[str, ...] = ()
    """Programs that have to be found on PATH, outside the workspace, for the call to count as reading."""
    subject: str = ""
    """Text that the pattern of a rule is compared with: a command line, a URL, the name of a subagent."""
    cwd: str = ""
    """Folder that the call works in, absolute or relative to the workspace root; empty: the root."""
    concern: str = ""
    """Reason to ask even about reading, such as "reads a secret: .env"; set by the harness."""
    is_remote: bool = False
    """True for a call that sends a request to a service on the network; even reading then needs approval or a rule."""
    operand: str = ""
    """Operand, such as a branch, that the pattern of a rule with the name of the tool may describe."""
    rule_name: str = ""
    """Name that rules match in addition to the tool's, such as `mcp__github__read_resource`; offered rules use it."""
    job: str = ""
    """Background job that the call types into; the user may allow all input to it."""
    restricted_as: str = ""
    """Name of another tool whose ask and deny rules apply to the call as well."""

    @property
    def changes(self) -> bool:
        return self.level not in ("none", "read")
