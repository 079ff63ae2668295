"""Table about extensions: skills, commands, hooks and instructions in files."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from cinch_tui.config.setting import held


class ExtensionSettings(Struct, frozen=True):
    claude: Annotated[
        bool,
        held("also use skills, commands, hooks, subagents and rules in .claude, of projects you trust and your own"),
    ] = True
    output_style: Annotated[
        str, held("how the model writes its replies; /output-style lists all; empty: the default")
    ] = ""
    disabled_packages: Annotated[
        tuple[str, ...],
        held("names of installed Python packages whose providers, tools, commands, hooks … are not used"),
    ] = ()
