"""Checks of program texts, such as sed scripts: each accepts only what it knows to write nothing.

Source: the manuals of GNU sed 4.9, gawk 5.2, mawk 1.3.4 and jq 1.7.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tools.shell.awk import check_awk
from tools.shell.sed import check_sed

# `env` and `$ENV` show keys; modules are read from files.
_JQ_REFUSED = re.compile(r"\$ENV|\$__prog|(?<![.\w$])(?:env|import|include|modulemeta|get_search_list)\b")


def check_script(language: str, text: str) -> str:
    """Return what makes a program text do more than read its input, or an empty string."""
    return _CHECKS[language](text)


def _check_jq(text: str) -> str:
    found = _JQ_REFUSED.search(text)
    return f"uses {found.group()}" if found else ""


def _check_date(text: str) -> str:
    return "" if text.startswith("+") else "sets the clock"


def _check_git_key(text: str) -> str:
    # Newer versions of git take `edit` and `set` for subcommands.
    return "" if "." in text else "is not the name of a setting"


_CHECKS: Mapping[str, Callable[[str], str]] = {
    "sed": check_sed,
    "awk": check_awk,
    "jq": _check_jq,
    "date": _check_date,
    "git-key": _check_git_key,
}
