"""Risk of a tool call, and the permission rules that can cover it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

RiskLevel: TypeAlias = Literal["none", "read", "edit", "execute", "dangerous", "forbidden"]
"""Risk of a call, from harmless to never allowed.

- `none`: touches nothing outside the conversation
- `read`: reads files
- `edit`: changes files in the workspace
- `execute`: runs a program
- `dangerous`: needs approval even if the tool is trusted
- `forbidden`: never runs, in any mode
"""

Access: TypeAlias = Literal["by_level", "shared", "read", "exclusive"]
"""Locks of a call while it runs, against the other calls of its reply.

- `by_level`: derived from its risk level and `paths`
- `shared`: nothing; it runs concurrently with any other call
- `read`: it changes no file, whatever its level
- `exclusive`: everything; it runs alone
"""


class Risk(Struct, frozen=True):
    """Risk assessment of one call: what it may read, change or run."""

    level: RiskLevel
    """Risk level."""
    reason: str = ""
    """Explanation for the user, shown in the approval dialog."""
    scope: str = ""
    """Scope of a permission rule for this call: a command prefix, or empty for the whole tool."""
    paths: tuple[str, ...] = ()
    """Files the call reads or changes, if known.

    Calls of one reply that change the same file run one after another; a call that changes files it cannot name runs
    alone, unless `access` says otherwise.
    """
    cacheable: bool = False
    """True if the same arguments give the same result until a call changes something or one of `paths` changes."""
    additional_paths: tuple[str, ...] = ()
    """Files the call changes in addition to others that it cannot name."""
    exact_rule: str = ""
    """Full text of the action, for a permission rule that covers nothing else."""
    scopes: tuple[str, ...] = ()
    """Prefixes of a call that runs several commands; it is allowed if each of them is."""
    access: Access = "by_level"
    """Locks the call takes while it runs."""

    @property
    def changes(self) -> bool:
        return self.level not in ("none", "read")


class Rule(Struct, frozen=True):
    """A permission rule."""

    tool: str
    """Name of the tool."""
    scope: str = ""
    """Words that a covered command starts with; empty for the whole tool."""
    exact: str = ""
    """The only command or file covered; empty if `scope` applies."""
