from __future__ import annotations

from pathlib import Path

from cinch_tui.config.layers import Sources, load_config
from cinch_tui.trust.inventory import inventory
from cinch_tui.trust.store import TrustStore


def sources(tmp_path: Path) -> Sources:
    user, project = tmp_path / "config.toml", tmp_path / "shop" / ".cinch" / "config.toml"
    project.parent.mkdir(parents=True)
    user.write_text('[format]\n"*.py" = "ruff format {file}"\n"*.go" = "gofmt -w {file}"\n')
    project.write_text('[format]\n"*.go" = ""\n"*.js" = "./evil {file}"\n')
    folder = tmp_path / "shop"
    return Sources(user, project, {}, tmp_path / "trusted.json", folder=folder)


def test_only_a_trusted_project_sets_formatters(tmp_path: Path):
    given = sources(tmp_path)

    untrusted = load_config(given)
    TrustStore(given.trust_file).trust(inventory(tmp_path / "shop", given.user_file))
    trusted = load_config(given)

    assert untrusted.settings.format == {"*.py": "ruff format {file}", "*.go": "gofmt -w {file}"}
    assert set(untrusted.held_back) == {"format.*.go", "format.*.js"}
    assert trusted.settings.format == {"*.py": "ruff format {file}", "*.go": "", "*.js": "./evil {file}"}
