"""Which lexer highlights a file, by its name."""

from __future__ import annotations

from pathlib import PurePath

_BY_SUFFIX = {
    ".bash": "bash", ".c": "c", ".cc": "cpp", ".cfg": "ini", ".clj": "clojure", ".cpp": "cpp", ".cs": "csharp",
    ".css": "css", ".dart": "dart", ".diff": "diff", ".ex": "elixir", ".exs": "elixir", ".go": "go", ".h": "c",
    ".hpp": "cpp", ".hs": "haskell", ".html": "html", ".ini": "ini", ".java": "java", ".js": "javascript",
    ".json": "json", ".jsonl": "json", ".jsx": "jsx", ".kt": "kotlin", ".lua": "lua", ".md": "markdown",
    ".mjs": "javascript", ".nix": "nix", ".patch": "diff", ".php": "php", ".pl": "perl", ".proto": "protobuf",
    ".ps1": "powershell", ".py": "python", ".pyi": "python", ".r": "r", ".rb": "ruby", ".rs": "rust", ".rst": "rst",
    ".scala": "scala", ".scss": "scss", ".sh": "bash", ".sql": "sql", ".svelte": "html", ".svg": "xml",
    ".swift": "swift", ".tcss": "css", ".tf": "terraform", ".toml": "toml", ".ts": "typescript", ".tsx": "tsx",
    ".vue": "html", ".xml": "xml", ".yaml": "yaml", ".yml": "yaml", ".zig": "zig", ".zsh": "bash",
}  # fmt: skip
_BY_NAME = {"CMakeLists.txt": "cmake", "Dockerfile": "docker", "Makefile": "make", "Gemfile": "ruby"}


def language_of(path: str) -> str:
    """The lexer's name, or nothing for plain text."""
    pure = PurePath(path)
    return _BY_NAME.get(pure.name) or _BY_SUFFIX.get(pure.suffix.lower(), "")
