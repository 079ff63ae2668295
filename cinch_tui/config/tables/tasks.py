"""Tables about task types."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from cinch_tui.config.setting import held


class TaskSettings(Struct, frozen=True):
    enabled: Annotated[
        bool, held("use task types, files tasks/NAME.toml: instructions, tools and limits by the kind of a prompt")
    ] = True
    model: Annotated[
        str,
        held(
            "model that classifies prompts which no rule matches, as provider/model; small: the cheap model of the "
            "provider in use; empty: none"
        ),
    ] = ""
