from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cinch_tui.config.config import Config
from cinch_tui.config.edit import toml_of
from cinch_tui.config.layers import Sources, load_config
from cinch_tui.config.names import RENAMED, value_of, variable_of
from cinch_tui.config.setting import Value
from cinch_tui.config.settings import Settings
from cinch_tui.config.store import effective_text
from harness.errors import ConfigError


@dataclass
class ConfigFiles:
    """Configuration files of one user and one project."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def user_file(self) -> Path:
        return self.folder / "config.toml"

    @property
    def project_file(self) -> Path:
        return self.folder / "project.toml"

    def load(
        self, flags: Mapping[str, Value] | None = None, *, named: bool = False, managed: Path | None = None
    ) -> Config:
        project = self.project_file if self.project_file.exists() else None
        trust = self.folder / "trusted.json"
        sources = Sources(self.user_file, project, self.environ, trust, flags or {}, named=named, managed_file=managed)
        return load_config(sources)

    def problem(self) -> str:
        with pytest.raises(ConfigError) as caught:
            self.load()
        return str(caught.value).replace(f"{self.folder}/", "")


@pytest.fixture
def files(tmp_path: Path) -> ConfigFiles:
    return ConfigFiles(tmp_path)


def test_nothing_given_means_defaults(files: ConfigFiles) -> None:
    config = files.load()

    assert config.settings == Settings()
    assert config.notices == ()


def test_a_later_layer_wins(files: ConfigFiles) -> None:
    files.user_file.write_text('model.thinking = "low"\nui.theme = "a"\nretry.max_retries = 1\nlimits.max_turns = 9\n')
    files.project_file.write_text('ui.theme = "b"\nretry.max_retries = 2\nlimits.max_turns = 8\n')
    files.environ = {"CINCH_RETRY_MAX_RETRIES": "3", "CINCH_LIMITS_MAX_TURNS": "7"}

    settings = files.load({"limits.max_turns": 6}).settings

    assert settings.model.thinking == "low"
    assert settings.ui.theme == "b"
    assert settings.retry.max_retries == 3
    assert settings.limits.max_turns == 6


def test_a_file_that_links_to_itself_does_not_keep_a_project_from_its_own(files: ConfigFiles) -> None:
    files.user_file.symlink_to(files.user_file)
    files.project_file.write_text('ui.theme = "b"\n')

    assert files.load().settings.ui.theme == "b"


def test_lists_of_several_layers_add_up(files: ConfigFiles) -> None:
    files.user_file.write_text('[permissions]\nallow = ["grep"]\n')

    assert files.load({"permissions.allow": ("bash:make",)}).settings.permissions.allow == ("grep", "bash:make")


def test_each_value_knows_where_it_came_from(files: ConfigFiles) -> None:
    files.user_file.write_text('\n[ui]\ntheme = "paper"\n')
    files.environ = {"CINCH_MODEL": "demo"}

    origins = files.load().origins

    assert origins["ui.theme"].place == f"{files.user_file}, line 3"
    assert origins["model.name"].place == "CINCH_MODEL"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[model]\nnmae = "x"\n', "config.toml, line 2: unknown key 'model.nmae'; did you mean 'model.name'?"),
        ("max_turns = 3\n", "config.toml, line 1: unknown key 'max_turns'; did you mean 'limits.max_turns'?"),
        ("zzz = 3\n", "config.toml, line 1: unknown key 'zzz'"),
        ("\n\n[limits]\nmax_turns = 'x'\n", "config.toml, line 4: limits.max_turns must be a whole number, not 'x'"),
        ("limits = {max_turns = -1}\n", "config.toml, line 1: limits.max_turns must be 0 or more, not -1"),
        ("ui = 3\n", "config.toml, line 1: unknown key 'ui'"),
        (
            '[ui]\ntheme = """\nlimits = 1\n"""\n[limits]\nmax_turns = []\n',
            "config.toml, line 6: limits.max_turns must be a whole number, not []",
        ),
        ('[ui]\ntheme = "a\n', "config.toml, line 2: is not valid TOML: illegal character '\\n'"),
        ("[ui", "config.toml, line 1: is not valid TOML: expected ']' at the end of a table declaration"),
        ('[ui]\ntheme = "${NO_SUCH}"\n', "needs the environment variable NO_SUCH, which is not set"),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_its_line(files: ConfigFiles, text: str, problem: str) -> None:
    files.user_file.write_text(text)

    assert problem in files.problem()


def test_a_file_that_is_no_text_is_reported(files: ConfigFiles) -> None:
    files.user_file.write_bytes(b"\xff\xfe")

    assert files.problem() == "config.toml: is not UTF-8 text (byte 0)"


def test_a_file_that_was_named_must_exist(files: ConfigFiles) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        files.load(named=True)


def test_variables_are_put_into_texts(files: ConfigFiles) -> None:
    files.user_file.write_text(
        '[model]\nbase_url = "http://${HOST}:${PORT:-8080}/v1"\n[limits]\nmax_turns = "${TURNS}"\n'
    )
    files.environ = {"HOST": "box", "TURNS": "4"}

    config = files.load()

    assert config.settings.model.base_url == "http://box:8080/v1"
    assert config.settings.limits.max_turns == 4


def test_invalid_value_of_a_variable_is_not_shown(files: ConfigFiles) -> None:
    files.user_file.write_text('[model]\nthinking = "${SECRET}"\n')
    files.environ = {"SECRET": "hunter2"}

    assert files.problem().endswith("extra-high, not '${SECRET}'")


def test_a_bad_environment_variable_stops_the_start(files: ConfigFiles) -> None:
    files.environ = {"CINCH_LIMITS_MAX_TURNS": "many"}

    assert files.problem() == "environment variable CINCH_LIMITS_MAX_TURNS must be a whole number, not 'many'"


def test_an_unknown_environment_variable_is_only_noticed(files: ConfigFiles) -> None:
    files.environ = {"CINCH_UI_TEHME": "x", "CINCH_HOME": "/nowhere", "CINCH_KEYRING": "off"}

    (notice,) = files.load().notices

    assert notice == "unknown environment variable CINCH_UI_TEHME; did you mean 'CINCH_UI_THEME'?"


def test_user_keys_are_read_and_an_error_in_them_does_not_stop_the_start(files: ConfigFiles) -> None:
    files.user_file.write_text('[keys]\n"chat.search" = "F20"\n"chat.serch" = "F4"\n\n[keys.chat]\nhelp = "none"\n')

    config = files.load()

    assert config.settings.keys == {"chat.search": "f20", "chat.help": ""}
    assert [f"{files.user_file}, line 3: keys: unknown id 'chat.serch'" in each for each in config.notices] == [True]
    assert '"chat.search" = "F20"' in effective_text(config.origins)


def test_a_project_does_not_change_the_users_keys(files: ConfigFiles) -> None:
    files.project_file.write_text('[keys]\n"prompt.submit" = "F20"\n')

    config = files.load()

    assert config.settings.keys == {}
    assert config.held_back == ("keys.prompt.submit",)


_SAMPLES: dict[str, Value] = {
    "prompt_cache.strategy": "off",
    "prompt_cache.tools": False,
    "prompt_cache.system": False,
    "prompt_cache.messages": False,
    "prompt_cache.lifetime": "1h",
    "plan.enabled": True,
    "permissions.allow": ("grep",),
}


@pytest.mark.parametrize(("former", "current"), RENAMED.items())
def test_a_former_key_has_its_effect_and_a_warning(files: ConfigFiles, former: str, current: str) -> None:
    value = _SAMPLES.get(current, 7)
    files.user_file.write_text(f"{former} = {toml_of(list(value) if isinstance(value, tuple) else value)}\n")

    config = files.load()

    assert value_of(config.settings, current) == value != value_of(Settings(), current)
    assert config.notices == (f"{files.user_file}, line 1: {former} was renamed to {current}; please update the name",)


@pytest.mark.parametrize(("former", "current"), RENAMED.items())
def test_a_former_environment_variable_has_its_effect_and_a_warning(
    files: ConfigFiles, former: str, current: str
) -> None:
    value = _SAMPLES.get(current, 7)
    files.environ = {variable_of(former): ",".join(value) if isinstance(value, tuple) else str(value)}

    config = files.load()

    assert value_of(config.settings, current) == value != value_of(Settings(), current)
    assert config.notices == (
        f"environment variable {variable_of(former)} was renamed to {variable_of(current)}; please update the name",
    )


def test_a_former_name_next_to_the_current_one_is_ignored(files: ConfigFiles) -> None:
    files.user_file.write_text("[limits]\nmax_duration_s = 5\nmax_seconds = 6\n")
    files.environ = {"CINCH_PLAN_ENABLED": "0", "CINCH_PLAN_FIRST": "1"}

    config = files.load()

    assert (config.settings.limits.max_duration_s, config.settings.plan.enabled) == (5, False)
    assert [notice.partition("; ")[2] for notice in config.notices] == ["it is ignored, since both are set"] * 2


def test_an_untrusted_project_starts_no_automatic_handoffs(files: ConfigFiles) -> None:
    files.project_file.write_text("[context]\nhandoff_at = 0.01\nevict_at = 0.5\n")

    config = files.load()

    assert (config.settings.context.handoff_at, config.settings.context.evict_at) == (0, 0.5)
    assert config.held_back == ("context.handoff_at",)


def test_a_former_key_in_an_untrusted_project_is_held_back_by_its_current_name(files: ConfigFiles) -> None:
    files.project_file.write_text("agents.max_depth = 7\n")

    config = files.load()

    assert config.settings == Settings()
    assert config.held_back == ("subagents.max_depth",)


@pytest.fixture
def managed(files: ConfigFiles) -> Path:
    return files.folder / "managed.toml"


@pytest.mark.parametrize(
    ("texts", "flags", "name", "value"),
    [
        (('model.name = "demo"', 'model.name = "a/b"'), {"model.name": "c/d"}, "model.name", "demo"),
        (('approval.mode = "smart"', ""), {"approval.mode": "off"}, "approval.mode", "smart"),
        (('approval.mode = "smart"', 'approval.mode = "on"'), {}, "approval.mode", "on"),
        (("limits.max_cost_usd = 5", "limits.max_cost_usd = 2"), {}, "limits.max_cost_usd", 2.0),
        (("limits.max_cost_usd = 5", "limits.max_cost_usd = 9"), {}, "limits.max_cost_usd", 5.0),
        (('tools.enabled = ["grep"]', 'tools.enabled = ["bash"]'), {}, "tools.enabled", ("grep",)),
        (('tools.disabled = ["bash"]', 'tools.disabled = ["grep"]'), {}, "tools.disabled", ("grep", "bash")),
        (('permissions.deny = ["x"]', ""), {"permissions.deny": ("y",)}, "permissions.deny", ("y", "x")),
    ],
)
def test_the_managed_file_can_only_be_tightened(
    files: ConfigFiles, texts: tuple[str, str], flags: dict[str, Value], name: str, value: Value
) -> None:
    managed = files.folder / "managed.toml"
    managed.write_text(texts[0])
    files.user_file.write_text(texts[1])

    assert value_of(files.load(flags, managed=managed).settings, name) == value


@pytest.mark.parametrize("mode", ["edits", "off"])
def test_an_approval_mode_beyond_the_loosest_one_is_not_used(files: ConfigFiles, managed: Path, mode: str) -> None:
    managed.write_text('approval.loosest_mode = "smart"')
    files.user_file.write_text('approval.loosest_mode = "off"')

    config = files.load({"approval.mode": mode}, managed=managed)

    assert config.settings.approval.mode == "smart"
    assert config.notices == (f"approval mode {mode} is not allowed by {managed}, line 1; using smart",)


def test_an_invalid_managed_file_stops_the_start(files: ConfigFiles, managed: Path) -> None:
    managed.write_text("nonsense = 1")

    with pytest.raises(ConfigError, match=r"managed\.toml, line 1: unknown key 'nonsense'"):
        files.load(managed=managed)


def test_rules_know_their_layer_and_place(files: ConfigFiles, managed: Path) -> None:
    managed.write_text('[permissions]\ndeny = ["bash(git push:*)"]\n')
    files.user_file.write_text('[permissions]\nallow = ["grep"]\n[tools.bash]\ndeny = ["sudo:*"]\n')
    files.project_file.write_text('[permissions]\nallow = ["bash"]\nask = ["edit(docs/**)"]\n')
    files.environ = {"CINCH_PERMISSIONS_ASK": "read(x)"}

    config = files.load({"permissions.allow": ("bash(ls)",)}, managed=managed)

    assert [(each.effect, each.text, each.layer, each.place) for each in config.rules] == [
        ("allow", "grep", "file", f"{files.user_file}, line 2"),
        ("deny", "bash(sudo:*)", "file", f"{files.user_file}, line 4"),
        ("ask", "edit(docs/**)", "project", f"{files.project_file}, line 3"),
        ("ask", "read(x)", "environment", "CINCH_PERMISSIONS_ASK"),
        ("allow", "bash(ls)", "flag", "the command line"),
        ("deny", "bash(git push:*)", "managed", f"{managed}, line 2"),
    ]
    assert config.held_back == ("permissions.allow",)


def test_examples_belong_to_their_rules(files: ConfigFiles) -> None:
    files.user_file.write_text('[permissions.examples]\n"bash(npm test:*)" = ["npm test -- -k x", "!npm testx"]\n')

    assert files.load().examples == {"bash(npm test:*)": ("npm test -- -k x", "!npm testx")}
