"""Languages whose definitions can be found: suffixes, grammars and queries."""

from __future__ import annotations

import re
import zlib
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Query

QUERIES = Path(__file__).parent / "queries"


class Language(Struct, frozen=True):
    """A language."""

    suffixes: tuple[str, ...]
    queries: tuple[str, ...]
    """Names of the files in `queries`; a capture of a node is the kind of the definition, `@name` its name."""

    module: str
    """Module of the grammar."""

    function: str = "language"
    """Function of the module that returns the grammar."""


LANGUAGES = {
    "bash": Language((".sh", ".bash"), ("bash",), "tree_sitter_bash"),
    "c": Language((".c",), ("c",), "tree_sitter_c"),
    # Headers of C are C++, too, as far as definitions go.
    "cpp": Language(
        (".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".h++", ".cu", ".cuh"),
        ("c", "cpp"),
        "tree_sitter_cpp",
    ),
    "csharp": Language((".cs",), ("csharp",), "tree_sitter_c_sharp"),
    "go": Language((".go",), ("go",), "tree_sitter_go"),
    "java": Language((".java",), ("java",), "tree_sitter_java"),
    "javascript": Language((".js", ".jsx", ".mjs", ".cjs"), ("javascript", "ecmascript"), "tree_sitter_javascript"),
    "php": Language((".php",), ("php",), "tree_sitter_php", "language_php"),
    "python": Language((".py", ".pyi", ".pyw"), ("python",), "tree_sitter_python"),
    "ruby": Language((".rb", ".rake", ".gemspec"), ("ruby",), "tree_sitter_ruby"),
    "rust": Language((".rs",), ("rust",), "tree_sitter_rust"),
    "tsx": Language((".tsx",), ("typescript", "ecmascript"), "tree_sitter_typescript", "language_tsx"),
    "typescript": Language(
        (".ts", ".mts", ".cts"), ("typescript", "ecmascript"), "tree_sitter_typescript", "language_typescript"
    ),
}
_BY_SUFFIX = {suffix: name for name, language in LANGUAGES.items() for suffix in language.suffixes}
SUFFIXES = tuple(_BY_SUFFIX)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|testdata|specs?|fixtures|__tests__)/|(?:^|/)(?:test_|conftest\.)|_test\.|\.(?:test|spec)\.",
    re.IGNORECASE,
)


def language_of(path: str) -> str | None:
    """Return the name of a file's language, by its suffix; None if it has no grammar here."""
    name = path.rpartition("/")[2].lower()
    return _BY_SUFFIX.get(name[name.rfind(".") :]) if "." in name else None


def is_test(path: str) -> bool:
    """Return True for the path of a test, as far as it tells."""
    return _TEST.search(path) is not None


@cache
def grammar(name: str) -> tuple[Grammar, Query]:
    """Return the grammar of a language, and the query for its definitions."""
    # Imported here: reading the suffixes needs no parser.
    import tree_sitter

    language = LANGUAGES[name]
    capsule: object = getattr(import_module(language.module), language.function)()
    loaded = tree_sitter.Language(capsule)
    text = "\n".join((QUERIES / f"{each}.scm").read_text(encoding="utf-8") for each in language.queries)
    return loaded, tree_sitter.Query(loaded, text)


@cache
def queries_version() -> int:
    """Return a checksum of all queries."""
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted(QUERIES.glob("*.scm"))))
