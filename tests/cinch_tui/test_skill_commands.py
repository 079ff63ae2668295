"""Skills in a start of cinch: trust, the tool, the commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.recording_host import RecordingHost

from cinch_tui.assembly.folder import Folder, read_folder
from cinch_tui.cli.start import config_sources
from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.registry import Command, CommandGroup, Invocation, Registry
from cinch_tui.commands.templates import skill_commands
from cinch_tui.config.options import Options
from cinch_tui.config.paths import find_paths
from cinch_tui.config.settings import Settings
from cinch_tui.config.tables.extensions import ExtensionSettings
from cinch_tui.template_use import TemplateUse
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore
from cinch_tui.user_input import UserInput
from extensions.skills import Skill

SETTINGS = Settings()
TEXT = "---\nname: deploy\ndescription: Deploy the site\n---\nRun the deployment of $ARGUMENTS.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    path = folder / ".claude" / "skills" / "deploy" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(TEXT)
    return folder


async def read(project: Path, settings: Settings = SETTINGS) -> Folder:
    paths = find_paths(os.environ)
    return await read_folder(Options(project, paths, {}, config_sources(paths, project)), settings, project)


def own(folder: Folder) -> list[str]:
    """Return the names of the skills that do not come with cinch."""
    return [each.name for each in folder.skills if each.level != "bundled"]


def trust(project: Path) -> None:
    paths = find_paths(os.environ)
    TrustStore(paths.trust_file).trust(inventory(project, paths.config_file))


async def test_skills_of_a_project_need_trust(project: Path):
    before = await read(project)
    trust(project)
    after = await read(project)

    assert (own(before), "Deploy the site" in before.prompt) == ([], False)
    assert (own(after), "- deploy: Deploy the site" in after.prompt) == (["deploy"], True)


async def test_extensions_of_claude_code_can_be_left_out(project: Path):
    trust(project)

    assert own(await read(project, Settings(extensions=ExtensionSettings(claude=False)))) == []


async def test_skill_that_links_out_of_the_project_is_not_read(project: Path, tmp_path: Path):
    outside = tmp_path / "outside.md"
    outside.write_text(TEXT)
    path = project / ".claude" / "skills" / "deploy" / "SKILL.md"
    path.unlink()
    path.symlink_to(outside)
    trust(project)

    assert own(await read(project)) == []


class SendingHost(RecordingHost):
    """A host that keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[UserInput] = []

    def send(self, user_input: UserInput) -> None:
        self.sent.append(user_input)


async def test_commands_send_the_instructions(project: Path):
    skill = Skill("deploy", "Deploy the site", project / ".claude" / "skills" / "deploy" / "SKILL.md")
    host = SendingHost()
    by_name = {each.name: each for each in skill_commands([skill]).commands}

    await by_name["/deploy"].handler(host, "docs")
    await by_name["/skill"].handler(host, "deploy blog")

    uses = [each.use for each in host.sent if isinstance(each.use, TemplateUse)]
    assert [(use.line, use.arguments) for use in uses] == [
        ("/deploy docs", "docs"),
        ("/skill deploy blog", "blog"),
    ]
    assert skill_commands([]).commands == []


async def nothing(host: CommandHost, argument: str) -> None:
    del host, argument


def test_group_that_goes_takes_no_command_of_the_same_name_with_it():
    own = Command("/review", "", nothing)
    registry = Registry([CommandGroup("Own", [own])])
    registry.replace_group(CommandGroup("Files", [Command("/review", "", nothing), Command("/check", "", nothing)]))

    registry.replace_group(CommandGroup("Files"))

    assert (registry.find("/review"), registry.find("/check")) == (own, None)


def test_only_commands_that_take_text_have_arguments_of_several_lines():
    commands = [Command("/a [text]", "", nothing, takes_text=True), Command("/b [text]", "", nothing)]
    registry = Registry([CommandGroup("Own", commands)])

    assert registry.parse("/a one\ntwo") == Invocation(commands[0], "one\ntwo")
    assert registry.parse("/b one\ntwo") is None
