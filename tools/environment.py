"""Environment of commands: no API keys of model services, no paging, no colors, and safe git settings.

Only keys of model services are removed: the user's other tokens, such as one for GitHub, keep working.

A repository's `config` may name programs that git runs even for `git status`. The user's own configuration
(`~/.gitconfig`) still applies. Configuration in the environment takes precedence over every file.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice, product
from pathlib import Path
from typing import Literal, TypeAlias

from harness.errors import NotAFile
from harness.workspace.disk import is_folder, is_there, read_beginning

GitUse: TypeAlias = Literal["none", "any", "read"]
"""none: the command does not name git, though a program it runs may · any: it does · read: it consists of git commands
that only read, which need no hook, editor, filter or credential helper."""

_SERVICES = (
    "AI21|AI_GATEWAY|ANTHROPIC|ANTHROPIC_FOUNDRY|AZURE_AI|AZURE_OPENAI|CEREBRAS|CINCH|CLAUDE|CLAUDE_CODE|CO|"
    "CODEX|COHERE|DASHSCOPE|DEEPINFRA|DEEPSEEK|FIREWORKS|FIREWORKS_AI|GEMINI|GOOGLE|GOOGLE_GENAI|GROK|GROQ|"
    "HYPERBOLIC|KIMI|LITELLM|LLM|LM_STUDIO|MINIMAX|MISTRAL|MOONSHOT|NEBIUS|NOVITA|NVIDIA|NVIDIA_NIM|OLLAMA|"
    "OPENAI|OPENROUTER|PERPLEXITY|PPLX|QWEN|REPLICATE|SAMBANOVA|SILICONFLOW|TOGETHER|TOGETHERAI|TOGETHER_AI|"
    "VERCEL_AI_GATEWAY|VLLM|VOYAGE|XAI|ZAI|ZHIPU|ZHIPUAI"
)
_KEY = re.compile(
    rf"({_SERVICES})_(API_?KEYS?|API_TOKEN|AUTH_TOKEN|OAUTH_TOKEN|ACCESS_TOKEN|ADMIN_KEY|KEY)(_\w+)?"
    "|AWS_BEARER_TOKEN_BEDROCK",
    re.IGNORECASE,
)

# Variables that name programs or files to load, or options that programs add to those of the command.
_STEERING = re.compile(
    "LESSOPEN|LESSCLOSE|LESS|MANPAGER|MANOPT|BASH_ENV|ENV|BASHOPTS|SHELLOPTS|CDPATH|GLOBIGNORE|EXECIGNORE|IFS|PS4"
    "|RIPGREP_CONFIG_PATH|GREP_OPTIONS|TAR_OPTIONS|GZIP|XZ_OPT|XZ_DEFAULTS|ZSTD_CLEVEL|AWKPATH|AWKLIBPATH|LOCPATH|NLSPATH"
    "|NODE_OPTIONS|NODE_PATH|RUBYOPT|RUBYLIB|EDITOR|VISUAL|SSH_ASKPASS|POSIXLY_CORRECT|_JAVA_OPTIONS|JAVA_TOOL_OPTIONS"
    r"|(XARGS|LD_|DYLD_|PYTHON|PERL|JQ_|BASH_FUNC_|GCONV_|MALLOC_|TREE_).*"
    r"|GIT_(EXTERNAL_DIFF|SSH.*|ASKPASS|EDITOR|SEQUENCE_EDITOR|PROXY_COMMAND|EXEC_PATH|TEMPLATE_DIR|TRACE.*|REDIRECT_.*)"
)

_ALWAYS = {"core.fsmonitor": "false"}
# Only folders with `.git` are repositories; one that merely looks like a bare repository is not. Commands that do not
# name git, such as `make test`, may work with bare repositories: they run code of the project anyway.
_NAMED = {"safe.bareRepository": "explicit"}
_READ_ONLY = {
    # `git diff` would write the index, even without optional locks.
    "diff.autoRefreshIndex": "false",
    "log.showSignature": "false",
    "core.hooksPath": os.devnull,
    "core.editor": "false",
    "core.askPass": "",
    "core.sshCommand": "ssh",
    "core.alternateRefsCommand": "",
    "credential.helper": "",
    "gpg.program": "gpg",
    "gpg.openpgp.program": "gpg",
    "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
    # Missing objects of a partial clone are still fetched, but only over transports that run no local program.
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "protocol.file.allow": "never",
    "protocol.git.allow": "never",
    "protocol.https.allow": "always",
    "protocol.ssh.allow": "always",
}
_NO_EXTERNAL_DIFF = (
    "echo 'The external diff program of this repository is disabled. Use: git diff --no-ext-diff' >&2; false"
)
_DRIVERS = {
    re.compile(r"diff\.(.+\.command|external)"): _NO_EXTERNAL_DIFF,
    re.compile(r"diff\..+\.textconv"): "cat",
}
_FILTERS = {
    re.compile(r"filter\..+\.(clean|smudge|process)"): "",
    re.compile(r"filter\..+\.required"): "false",
}
_MAY_NAME_DRIVERS = re.compile(rb"\[\s*(diff|filter|include)", re.IGNORECASE)
_LARGEST_CONFIG = 1_000_000
_KEYS = ("--list", "--includes", "--name-only", "-z")
_LARGEST_INDEX = 500_000_000
_SUBMODULE = (0o160000).to_bytes(4, "big")
"""Mode of a submodule in an index."""
_MOST_MODULES = 500
_PATIENCE_SECONDS = 5.0


def command_environment(base: Mapping[str, str], secrets: Iterable[str] = ()) -> dict[str, str]:
    """Return `base` without the keys of model services and the variables in `secrets`; paging and colors are disabled.

    `git_environment` does the same for git.
    """
    hidden = set(secrets)
    kept = {name: value for name, value in base.items() if name not in hidden and _KEY.fullmatch(name) is None}
    return {**kept, "TERM": "dumb", "PAGER": "cat"}


def read_only_environment(base: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return `base` for a command that was judged to only read: nothing in it names other programs or options.

    Args:
        base: Environment of commands.
        root: Workspace root. Programs in it are not found through PATH.
    """
    # Not before the first command: every start imports this module.
    from harness.approval.paths import safe_path

    kept = {name: value for name, value in base.items() if _STEERING.fullmatch(name) is None}
    return {**kept, "PATH": os.pathsep.join(safe_path(base.get("PATH", os.defpath), str(root.resolve())))}


def git_environment(base: Mapping[str, str], folders: Sequence[Path], use: GitUse) -> dict[str, str]:
    """Return `base` with settings that make git safe to run in `folders`. May run git: call it in a thread."""
    settings = _ALWAYS | ({} if use == "none" else _NAMED) | (_READ_ONLY if use == "read" else {})
    environment = {name: value for name, value in base.items() if name != "GIT_EXTERNAL_DIFF"}
    environment |= {"GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
    if use == "read":
        # Refreshing the index would write to the repository and run a hook.
        environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment = configured(environment, settings)
    return configured(environment, _without_drivers(environment, folders, use))


def configured(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git has these settings, whatever configuration files say."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    result = {**environment, "GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (key, value) in enumerate(settings.items(), first):
        result[f"GIT_CONFIG_KEY_{number}"] = key
        result[f"GIT_CONFIG_VALUE_{number}"] = value
    return result


def _without_drivers(environment: Mapping[str, str], folders: Sequence[Path], use: GitUse) -> dict[str, str]:
    """Return settings that replace the drivers configured by the repositories; git has no option to disable all of
    them."""
    patterns = _DRIVERS | (_FILTERS if use == "read" else {})
    replaced: dict[str, str] = {}
    found = filter(None, map(_repository_of, folders))
    repositories = (each for top in dict.fromkeys(found) for each in chain((top,), _submodules(environment, top)))
    # A link may nest submodules without an end.
    for path in dict.fromkeys(path for each in islice(repositories, _MOST_MODULES) for path in _config_files(each)):
        keys = _keys(environment, path) if _MAY_NAME_DRIVERS.search(_beginning(path)) else ()
        for key, (pattern, value) in product(keys, patterns.items()):
            if pattern.fullmatch(key):
                replaced[key] = value
    return replaced


def _keys(environment: Mapping[str, str], config: Path) -> list[str]:
    """Return the keys that a configuration file sets, including those of included files. Reading them runs nothing."""
    return _listed(environment, config.parent, "config", "--file", config.name, *_KEYS)


def _listed(environment: Mapping[str, str], folder: Path, *words: str) -> list[str]:
    """Return the entries that a git command lists; none if it fails."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=environment, capture_output=True, timeout=_PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return done.stdout.decode("utf-8", "surrogateescape").split("\0")


def _repository_of(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if is_there(each / ".git")), None)


def _git_folder(repository: Path) -> Path:
    git = repository / ".git"
    if is_folder(git):
        return git
    return repository / _beginning(git).decode(errors="replace").strip().removeprefix("gitdir:").strip()


def _submodules(environment: Mapping[str, str], repository: Path) -> Iterator[Path]:
    """Yield the submodules that are checked out, which may have repositories of their own, and those nested in them."""
    git = _git_folder(repository)
    indexes = (git / "index", *git.glob("sharedindex.*"))
    if not any(map(_may_have_submodules, indexes)):
        return
    for entry in _listed(environment, repository, "ls-files", "--stage", "-z"):
        mode, _, path = entry.partition("\t")
        if mode.startswith("160000 ") and is_there(repository / path / ".git"):
            yield repository / path
            yield from _submodules(environment, repository / path)


def _may_have_submodules(index: Path) -> bool:
    with suppress(OSError):
        size = index.stat().st_size
        return size > _LARGEST_INDEX or _SUBMODULE in _beginning(index, size)
    return False


def _config_files(repository: Path) -> Iterator[Path]:
    git = _git_folder(repository)
    common = git / (_beginning(git / "commondir").decode(errors="replace").strip() or ".")
    for each in dict.fromkeys((git, common.resolve(), *islice(_modules(common / "modules"), _MOST_MODULES))):
        yield from (each / "config", each / "config.worktree")


def _modules(folder: Path) -> Iterator[Path]:
    """Yield the repositories of submodules, whose names may contain slashes, and of nested submodules."""
    with suppress(OSError):
        for each in folder.iterdir():
            if is_there(each / "HEAD"):
                yield each
                yield from _modules(each / "modules")
            elif is_folder(each) and not each.is_symlink():
                yield from _modules(each)


def _beginning(path: Path, most: int = _LARGEST_CONFIG) -> bytes:
    with suppress(OSError, NotAFile, ValueError):
        return read_beginning(path, most)[0]
    return b""
