"""Check of awk programs: only programs that read their input and print are accepted."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t]+|\#[^\n]*)
  | (?P<newline>\n)
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator>\|\||&&|\+\+|--|[-+*/%^]=|\*\*=?|[=!<>]=|!~|[-+*/%^=!<>|?:~$,;(){}\[\]])
    """,
    re.VERBOSE,
)
_REGEX = re.compile(r"/((?:[^/\\\n]|\\[^\n])+)/")
_FUNCTIONS = re.compile(
    "length|substr|index|split|sub|gsub|match|sprintf|sin|cos|atan2|exp|log|sqrt|int|rand|srand|tolower|toupper|gensub"
    "|strftime|systime|mktime|strtonum|asort|asorti|patsplit|and|or|xor|compl|lshift|rshift|isarray|typeof"
)
_KEYWORDS = re.compile(
    "BEGIN|END|BEGINFILE|ENDFILE|function|func|if|else|while|for|do|in|delete|return|next|nextfile|exit|break|continue"
    "|print|printf|switch|case|default"
)
_REFUSED = {
    "system": "runs a command",
    "getline": "reads from a file or command",
    "close": "closes a file or command",
    "fflush": "flushes a file or command",
    "ENVIRON": "reads the environment, which may hold keys",
    "ARGV": "changes the files that are read",
    "ARGC": "changes the files that are read",
    "SYMTAB": "reaches every variable",
    "FUNCTAB": "reaches every function",
    "PROCINFO": "changes how commands are run",
}
_VALUE_ENDS = (")", "]", "++", "--")


class _Refused(Exception):
    """The program is not known to be harmless."""


def check_awk(text: str) -> str:
    """Return what makes a program do more than print, or an empty string."""
    try:
        _Program(text).read()
    except _Refused as problem:
        return str(problem)
    return ""


class _Program:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._last = ""
        self._last_kind = ""
        self._depth = 0
        self._print_depth = -1
        self._defined = set(re.findall(r"\bfunc(?:tion)?[ \t]+([A-Za-z_]\w*)", text))

    def read(self) -> None:
        while self._at < len(self._text):
            if self._regex():
                continue
            found = _TOKEN.match(self._text, self._at)
            if found is None:
                raise _Refused(f"has an unknown part: {self._text[self._at : self._at + 20]}")
            self._at = found.end()
            kind = found.lastgroup or ""
            if kind != "blank":
                self._check(kind, found.group())
                self._last, self._last_kind = found.group(), kind

    def _regex(self) -> bool:
        """Skip a regular expression; a slash after a value divides."""
        if self._text[self._at] != "/":
            return False
        if self._last == ")":
            self._refuse_ambiguous_slash()
        is_value = self._last_kind in ("number", "string") or self._last in _VALUE_ENDS
        if is_value or (self._last_kind == "name" and not _KEYWORDS.fullmatch(self._last)):
            return False
        found = _REGEX.match(self._text, self._at)
        # Implementations disagree whether a slash in brackets ends the expression.
        if found is None or found.group(1).rfind("[") > found.group(1).rfind("]"):
            raise _Refused("has a regular expression that cannot be read with certainty")
        self._at = found.end()
        self._last, self._last_kind = "/", "string"
        return True

    def _refuse_ambiguous_slash(self) -> None:
        """Refuse a slash after a parenthesis if what follows reads differently after a regular expression."""
        rest = self._text[self._at + 1 :]
        if re.search(r'["#/]', rest):
            raise _Refused("has a slash that may divide or begin a regular expression")

    def _check(self, kind: str, token: str) -> None:
        if kind == "name":
            self._name(token)
        elif kind == "newline":
            if self._last not in (",", "&&", "||", "?", ":"):
                self._print_depth = -1
        elif kind == "operator":
            self._operator(token)

    def _name(self, name: str) -> None:
        if name in _REFUSED:
            raise _Refused(f"{_REFUSED[name]}: {name}")
        is_call = self._text[self._at : self._at + 1] == "("
        is_known = name in self._defined or _FUNCTIONS.fullmatch(name) or _KEYWORDS.fullmatch(name)
        if is_call and not is_known:
            raise _Refused(f"calls an unknown function: {name}")
        if name in ("print", "printf"):
            self._print_depth = self._depth

    def _operator(self, token: str) -> None:
        if token in "([":
            self._depth += 1
        elif token in ")]":
            self._depth -= 1
        elif token in ";{}":
            self._print_depth = -1
        elif token == "|":
            raise _Refused("pipes to a command")
        elif token == ">" and self._depth == self._print_depth:
            raise _Refused("writes to a file")
