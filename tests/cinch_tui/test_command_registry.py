from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fakes.recording_host import RecordingHost

from cinch_tui.api_keys.leak_check import TypedKey, take_keys
from cinch_tui.commands.builtin import builtin_commands
from cinch_tui.commands.host import CommandHost
from cinch_tui.commands.packages import package_commands
from cinch_tui.commands.registry import DESTRUCTIVE, CommandGroup, Declined, Invocation, Registry, UnknownCommand
from cinch_tui.commands.session import is_planning
from cinch_tui.widgets.prompt.completion import CommandCompletion


@pytest.fixture(scope="module")
def registry() -> Registry:
    return builtin_commands()


@pytest.mark.parametrize(
    ("text", "name", "argument"),
    [
        ("/plan", "/plan", ""),
        ("  /plan\n", "/plan", ""),
        ("/Q", "/quit", ""),
        ("/exit", "/quit", ""),
        ("/help", "#help", ""),
        ("/model  demo/tour ", "/model", "demo/tour"),
        ("#approve untrust write_file", "#approve", "untrust write_file"),
        ("/system You are  terse.", "/system", "You are  terse."),
    ],
)
def test_known_first_word_of_one_line_is_a_command(registry: Registry, text: str, name: str, argument: str):
    parsed = registry.parse(text)

    assert isinstance(parsed, Invocation)
    assert (parsed.command.name, parsed.argument) == (name, argument)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "#",
        "# Heading",
        "# Heading\nbody",
        "## plan",
        "#help\nand more",
        "/etc/hosts is broken",
        "/usr/bin/x is broken",
        "/etc/hosts",
        "/model\ngpt",
        "#define FOO 1",
        "#1 is the worst of them",
        "/frobnicate all the things",
        "// a comment",
        "//plan",
        "\\#clear",
        "fix the /plan command",
        "please #help",
    ],
)
def test_prompt_that_looks_like_a_command_stays_a_prompt(registry: Registry, text: str):
    assert registry.parse(text) is None


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("#aprove", "#approve"),
        ("#aprove on", "#approve on"),
        ("/hlep", "#help"),
        ("/claer", "/new"),
        ("#plan", "/plan"),
        ("/thinkin high", "/thinking high"),
    ],
)
def test_near_miss_names_what_was_probably_meant(registry: Registry, text: str, suggestion: str):
    parsed = registry.parse(text)

    assert isinstance(parsed, UnknownCommand)
    assert parsed.suggestions[0] == suggestion


@pytest.mark.parametrize("text", ["/exprt", "/qiut", "/exitt", "/rest", "/quit now"])
def test_mistyped_command_never_suggests_a_destructive_one_as_safe(text: str):
    parsed = builtin_commands().parse(text)

    assert isinstance(parsed, UnknownCommand)
    assert not parsed.is_safe or not {*parsed.suggestions[:1]} & DESTRUCTIVE
    assert [name for name in parsed.suggestions if name in DESTRUCTIVE] == list(parsed.suggestions[-1:])


def test_unknown_single_word_is_an_unknown_command_without_suggestions(registry: Registry):
    assert registry.parse("#frobnicate") == UnknownCommand("#frobnicate", (), "there is no command #frobnicate")


def test_text_after_a_command_that_takes_none_is_not_swallowed(registry: Registry):
    parsed = registry.parse("/new idea: rewrite it all")

    assert isinstance(parsed, UnknownCommand)
    assert parsed.reason == "/new takes no argument"


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("//plan", "/plan"),
        ("\\#clear", "#clear"),
        ("\\/plan", "/plan"),
        ("//plam", "/plam"),
        ("// a comment", "// a comment"),
        ("\\alpha", "\\alpha"),
        ("plain", "plain"),
    ],
)
def test_escape_sends_the_literal_command(registry: Registry, text: str, sent: str):
    assert registry.literal(text) == sent


@pytest.mark.parametrize("name", ["keys", "approve", "info", "help", "copy", "save", "load"])
def test_hash_command_is_also_found_by_its_slash_twin(registry: Registry, name: str):
    assert registry.find(f"/{name}") is registry.find(f"#{name}") is not None


def test_slash_command_keeps_its_name_when_a_hash_command_has_the_same():
    family = CommandGroup("Same")

    @family.command("#same", "with a hash")
    async def hashed(host: object, argument: str) -> None: ...

    @family.command("/same", "with a slash")
    async def slashed(host: object, argument: str) -> None: ...

    registry = Registry([family])

    assert [(name, command.summary) for name, command in registry.named] == [
        ("#same", "with a hash"),
        ("/same", "with a slash"),
    ]


def test_two_commands_of_one_name_are_refused():
    family = CommandGroup("Twice")

    @family.command("/same", "first")
    @family.command("/same", "second")
    async def same(host: object, argument: str) -> None: ...

    with pytest.raises(ValueError, match="/same"):
        Registry([family])


def test_keys_are_taken_out_of_a_longer_text():
    text = "use this:\n#key openai sk-secret\nand go on\n  #key anthropic sk-other trailing words\nend"

    rest, keys = take_keys(text)

    assert rest == "use this:\nand go on\nend"
    assert keys == (TypedKey("openai", "sk-secret"), TypedKey("anthropic", "sk-other"))


def test_a_typed_key_does_not_show_its_secret():
    assert "sk-secret" not in repr(TypedKey("openai", "sk-secret"))


@pytest.mark.parametrize("text", ["#keys", "#key", "#key openai", "a #key b c", "# key points here", "plain"])
def test_text_without_a_whole_key_line_is_left_alone(text: str):
    assert take_keys(text) == (text, ())


def bring(*usages: str, declines: bool = False) -> tuple[CommandGroup, list[str]]:
    """A family of another package, and what its commands were asked."""
    family, asked = CommandGroup("Of others"), list[str]()

    async def handler(host: CommandHost, argument: str) -> None:
        if declines:
            raise Declined
        asked.append(argument)

    for usage in usages:
        family.command(usage, "something of theirs")(handler)
    return family, asked


@pytest.mark.parametrize(("declines", "asked", "planned"), [(False, [""], False), (True, [], True)])
async def test_a_command_of_another_package_hides_ours_or_leaves_it_to_ours(
    registry: Registry, declines: bool, asked: list[str], planned: bool
):
    family, heard = bring("/plan", declines=declines)
    both = Registry(registry.groups, [family])
    invocation, host = both.parse("/plan"), RecordingHost()
    assert isinstance(invocation, Invocation)

    done = await both.run(invocation, host)

    assert (done, heard, is_planning(host)) == (True, asked, planned)


async def test_an_unhandled_command_is_returned():
    family, _ = bring("/deploy [where]", declines=True)
    registry, host = Registry((), [family]), RecordingHost()
    invocation = registry.parse("/deploy")
    assert isinstance(invocation, Invocation)

    assert not await registry.run(invocation, host)

    assert host.notices == [("warning", "invalid argument for /deploy")]


def test_two_packages_with_one_name_do_not_keep_cinch_from_starting(registry: Registry):
    first, second = bring("/deploy")[0], bring("/deploy")[0]

    found = Registry(registry.groups, [first, second]).find("/deploy")

    assert found is first.commands[0]


@pytest.mark.parametrize(("text", "running"), [("#load", False), ("/reset", True), ("/system be terse", True)])
async def test_command_that_must_wait_or_lacks_an_argument_does_not_run(registry: Registry, text: str, running: bool):
    host = RecordingHost()
    host.session.is_running = running
    invocation = registry.parse(text)
    assert isinstance(invocation, Invocation)

    assert not await registry.run(invocation, host)

    assert (len(host.notices), host.calls) == (1, [])


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package that brings a command, which breaks, and two things that are none."""
    (tmp_path / "deploying.py").write_text(
        "from cinch_tui.commands.registry import CommandGroup\n"
        "DEPLOY = CommandGroup('Deploying')\n"
        "@DEPLOY.command('/deploy [where]', 'ship it', arguments=lambda host: 1 / 0)\n"
        "async def deploy(host, argument): raise KeyError('no ship')\n"
    )
    info = tmp_path / "deploying-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: deploying\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[cinch.commands]\ndeploy = deploying:DEPLOY\nbroken = deploying:NOTHING\nodd = deploying:deploy\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.usefixtures("package")
def test_commands_are_brought_by_installed_packages():
    families = package_commands().usable()

    assert [command.name for family in families for command in family.commands] == ["/deploy"]
    broken, odd = package_commands().problems()
    assert broken.startswith("the command 'broken' of the package deploying 1.0 cannot be used: AttributeError: ")
    assert "expected a CommandGroup, not function; update the package" in odd


@pytest.mark.usefixtures("package")
async def test_a_fault_of_another_package_is_reported_and_ends_nothing():
    host, registry = RecordingHost(), Registry((), package_commands().usable())
    (deploy,) = registry.commands

    begun = await registry.run(Invocation(deploy, ""), host)

    assert begun
    assert host.notices == [("error", "/deploy, a command of another package, failed: KeyError('no ship'); see /logs")]
    assert CommandCompletion(lambda: registry, host).complete("/deploy x", one_line=True) is None
