"""Tables about task types, the system prompt and environment variables."""

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


class PromptSettings(Struct, frozen=True):
    template: Annotated[
        str,
        held(
            "file with instructions in place of those of cinch, with {{ variables }}; environment, instruction files "
            "and skills follow; empty: none"
        ),
    ] = ""


class EnvironmentSettings(Struct, frozen=True):
    dotenv: Annotated[
        tuple[str, ...],
        held(
            'variables to read from .env beside this file and in trusted projects, such as "*_API_KEY"; commands do '
            "not receive them"
        ),
    ] = ()
