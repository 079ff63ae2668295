"""Contents of a folder that an agent uses, as far as the user trusts the folder."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from cinch_tui.assembly.system_prompt import own_prompt
from cinch_tui.config.options import Options
from cinch_tui.config.settings import Settings
from cinch_tui.fuzzy_match import did_you_mean
from cinch_tui.plugin_folders import installed_roots, outside_plugins
from cinch_tui.trust.inventory import Inventory, extension_folders
from cinch_tui.trust.prompt import folder_state, skipped_notices
from cinch_tui.trust.store import FolderTrust
from extensions.commands import FileCommand, load_commands
from extensions.locations import BUNDLED, Root, roots_in
from extensions.output_styles import DEFAULT, LoadedStyles, load_styles
from extensions.rules import LoadedRules, load_rules
from extensions.skills import Skill, load_skills, skills_section
from extensions.subagents import LoadedSubagents, load_subagents, with_skills
from harness.execution.dependencies import INSTRUCTIONS as DEPENDENCIES
from harness.instructions.loading import (
    Environment,
    OutputStyle,
    build_system_prompt,
    describe_environment,
    load_instructions,
    project_root,
    quoted,
)
from harness.instructions.reader import Instruction


class Folder(Struct, frozen=True):
    """Instructions that the folder of an agent brings along, as far as the user trusts it."""

    prompt: str
    """System prompt with the trusted instruction files."""

    environment: Environment
    """Facts that the prompt states."""

    files: tuple[Instruction, ...]
    """Trusted instruction files."""

    trust: FolderTrust
    """Trust in the folder."""

    ignored: tuple[str, ...]
    """Files that have no effect without trust, relative to the root of the folder."""

    problems: tuple[str, ...]
    """Problems with files, for the user."""

    roots: tuple[Root, ...] = ()
    """Folders with extensions, the strongest first; files of the project are active if the user trusts it."""

    skills: tuple[Skill, ...] = ()
    """Skills of the user, and of the folder if it is trusted."""

    rules: LoadedRules = LoadedRules()
    """Rules of the user, and of the folder if it is trusted."""

    styles: LoadedStyles = LoadedStyles()
    """Output styles of cinch, of the user, and of the folder if it is trusted."""

    subagents: LoadedSubagents = LoadedSubagents()
    """Subagents of the user, and of the folder if it is trusted."""

    commands: tuple[FileCommand, ...] = ()
    """Commands in files of the user, and of the folder if it is trusted."""

    def template(self, name: str) -> Skill | FileCommand | None:
        """Return what the user starts with `/name`: a skill, else a command, else a skill that comes with cinch.

        A command may be named with its scope, too: `project:name` or `user:name`.
        """
        skills = sorted((each for each in self.skills if each.for_user), key=lambda each: each.level == "bundled")
        own = [each for each in skills if each.level != "bundled"]
        found = (*own, *self.commands, *skills[len(own) :])
        named = next((each for each in found if each.name.lower() == name.lower()), None)
        return named or next((each for each in self.commands if each.scoped_name.lower() == name.lower()), None)

    @property
    def instructions(self) -> str:
        """The part of the prompt that comes from instruction files."""
        return quoted(self.files)

    def prompt_of_role(self, text: str) -> str:
        """Return the system prompt of a role with these instructions."""
        return build_system_prompt(self.environment, self.files, role=text)


async def read_folder(options: Options, settings: Settings, root: Path) -> Folder:
    """Read what a folder brings along, as far as the user trusts it."""
    files, trust = await asyncio.to_thread(folder_state, options, root)
    roots, plugin_problems = await asyncio.to_thread(extension_roots, options, settings, root, files, trust)
    rules = await asyncio.to_thread(load_rules, roots, project_root(root))
    loaded = await load_instructions(root, options.paths.config, project=trust.is_trusted, rules=rules.general)
    environment = await asyncio.to_thread(describe_environment, root)
    skills = await asyncio.to_thread(load_skills, roots)
    commands = await asyncio.to_thread(load_commands, roots)
    subagents = await asyncio.to_thread(load_subagents, roots)
    role = await asyncio.to_thread(_role, options, skills.skills)
    own = await own_prompt(settings.prompt.template, root, options.environ)
    styles = await asyncio.to_thread(load_styles, roots)
    style, style_problems = _chosen(styles, settings.extensions.output_style)
    order = DEPENDENCIES if settings.tools.dependencies else ""
    index = "\n\n".join(part for part in (skills_section(skills.skills), order) if part)
    return Folder(
        prompt=options.system
        or build_system_prompt(environment, loaded.instructions, index, role=role or own.text, style=style),
        environment=environment,
        files=loaded.instructions,
        trust=trust,
        ignored=tuple(files.label(each.path) for each in files.found if each.path in trust.inert),
        problems=(
            *loaded.problems,
            *outside_plugins(
                (*rules.problems, *skills.problems, *commands.problems, *subagents.problems, *styles.problems),
                options.paths,
            ),
            *own.problems,
            *style_problems,
            *plugin_problems,
            *skipped_notices(files, trust, headless=options.headless),
        ),
        roots=roots,
        skills=skills.skills,
        rules=rules,
        commands=commands.commands,
        subagents=subagents,
        styles=styles,
    )


def _chosen(styles: LoadedStyles, name: str) -> tuple[OutputStyle | None, tuple[str, ...]]:
    """Return the output style with a name, and the problem if it does not exist."""
    style = styles.find(name)
    if style is not None or name.lower() in ("", DEFAULT):
        return style, ()
    hint = did_you_mean(name, [each.name for each in styles.styles])
    return None, (f"extensions.output_style: no output style is called {name!r}{hint}; /output-style lists all",)


def _role(options: Options, skills: Sequence[Skill]) -> str:
    """Return the instructions of the chosen agent; empty for those of cinch.

    Raises:
        NotAFile, OSError, UnicodeDecodeError: a skill that it names cannot be read.
    """
    agent = options.agent
    return with_skills(agent.system_prompt, agent.role.skills, skills) if agent and agent.system_prompt else ""


def extension_roots(
    options: Options, settings: Settings, root: Path, files: Inventory, trust: FolderTrust
) -> tuple[tuple[Root, ...], Sequence[str]]:
    """Return the folders with extensions, and problems with plugins for the user.

    The order is that of precedence: of a project, the nearest first, of the user, of plugins, and those of cinch.
    """
    usable = {each.path for each in files.found if trust.is_trusted and each.path not in trust.inert}

    def is_active(path: Path) -> bool:
        # A link could lead to any file of the user.
        return path in usable and Path(os.path.realpath(path)).is_relative_to(files.root)

    claude = settings.extensions.claude
    nearest_first = reversed(extension_folders(root))
    roots = [
        each for folder in nearest_first for each in roots_in(folder, "project", claude=claude, is_active=is_active)
    ]
    roots.append(Root(options.paths.config, "user"))
    home = options.environ.get("HOME")
    if home:
        roots += [each for each in roots_in(Path(home), "user", claude=claude) if each.path.name != ".cinch"]
    plugins, problems = installed_roots(options.paths)
    return (*roots, *plugins, BUNDLED), problems
