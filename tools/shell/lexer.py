"""Lexer of bash: blanks, operators, quotes, expansions and here-documents.

It covers what people write. Text that it does not cover raises `Unreadable`, and valid constructs that run or change
more than they show are noted as problems.

Source: "Shell Syntax" and "Shell Expansions" in the manual of bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from tools.shell.variables import is_number
from tools.shell.words import Part, ansi_c

DELIMITERS = frozenset(" \t\n;&|<>()")

_PLAIN = re.compile(r"[\w./:@%+=,^-]+")
# A comment begins where a word could.
_BLANKS = re.compile(r"(?:[ \t]|\\\n)*(?:(?<![^ \t\n;&|<>()])#[^\n]*)?")
_PARAMETER = re.compile(r"#?(?:[A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[(?:[@*]|\d+)\])?", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*|[\d@*#?$!-]", re.ASCII)
_OPERATION = re.compile(r":?[-+?]|##?|%%?|//?[#%]?|\^\^?|,,?")
_SLICE = re.compile(r": ?-?\d+(?::-?\d+)?(?=\})")
_VARIABLE = re.compile(r"(?<!\w)(?:\$\{([A-Za-z_]\w*)\}|\$?([A-Za-z_]\w*))", re.ASCII)
_LITERAL_ARITHMETIC = re.compile(r"[\d\s+*/%()<>=!&|^~?:-]*")
_REQUIRED_HOME = re.compile(r"(HOME|PWD):?\?[\w ]*\}")
_NUMBERS = frozenset("#?$!")
_LISTS = frozenset("@*")


class Unreadable(Exception):
    """The text is not valid, or has a construct that is not supported."""


class HereDocument(Struct):
    """Here-document whose body follows the current line."""

    delimiter: str
    is_literal: bool
    strips_tabs: bool
    parts: list[Part]


class Lexer:
    """Position in a text, and readers of what follows it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._documents: list[HereDocument] = []

    # The parser implements these three.

    def note(self, problem: str) -> None:
        raise NotImplementedError

    def substitution(self) -> tuple[int, int]:
        """Read commands up to `)` and return their range."""
        raise NotImplementedError

    def nested(self, text: str, read: Callable[[Lexer], object]) -> tuple[int, int]:
        """Read a text that is part of this one, with its own positions, and return the range of its commands."""
        raise NotImplementedError

    def peek(self, length: int = 1) -> str:
        return self.text[self.position : self.position + length]

    def accept(self, *tokens: str) -> str:
        """Consume one of the tokens if it is next, and return it; otherwise return an empty string."""
        for token in tokens:
            if self.text.startswith(token, self.position):
                self.position += len(token)
                return token
        return ""

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise Unreadable(f"{token} is missing")

    def blanks(self) -> None:
        """Skip blanks and a comment."""
        if found := _BLANKS.match(self.text, self.position):
            self.position = found.end()

    def newlines(self) -> None:
        """Skip blanks, comments and line ends, and read the here-documents after them."""
        self.blanks()
        while self.newline():
            self.blanks()

    def newline(self) -> bool:
        if not self.accept("\n"):
            return False
        documents, self._documents = self._documents, []
        for document in documents:
            self._read_document(document)
        return True

    def no_open_document(self) -> None:
        if self._documents:
            raise Unreadable("a here-document has no body")

    def document(self, *, strips_tabs: bool) -> HereDocument:
        """Read the delimiter of a here-document, whose body comes later."""
        self.blanks()
        start = self.position
        parts = self.word()
        if not parts or any(part.text is None for part in parts) or "\n" in self.text[start : self.position]:
            raise Unreadable("a here-document has no delimiter")
        is_literal = bool({"'", '"', "\\"} & set(self.text[start : self.position]))
        document = HereDocument("".join(part.text or "" for part in parts), is_literal, strips_tabs, [])
        self._documents.append(document)
        return document

    def _read_document(self, document: HereDocument) -> None:
        lines: list[str] = []
        while self.position < len(self.text):
            end = self.text.find("\n", self.position)
            line = self.text[self.position :] if end < 0 else self.text[self.position : end]
            self.position = len(self.text) if end < 0 else end + 1
            line = line.lstrip("\t") if document.strips_tabs else line
            if line == document.delimiter:
                break
            lines.append(line + "\n")
        else:
            self.note("a here-document does not end")
        body = "".join(lines)
        if not document.is_literal and any(line.endswith("\\\n") for line in lines):
            # Bash joins such a line with the next one, which may be the delimiter.
            self.note("a line of a here-document continues on the next one")
        if document.is_literal:
            document.parts.append(Part(body, is_quoted=True))
        else:
            self.nested(body, lambda lexer: document.parts.extend(lexer.quoted_text("")))

    def word(self) -> list[Part]:
        """Read a word, which may be empty."""
        text, parts = self.text, list[Part]()
        while self.position < len(text):
            if found := _PLAIN.match(text, self.position):
                self.position = found.end()
                parts.append(Part(found.group()))
                continue
            character = text[self.position]
            if character in DELIMITERS and not (character in "<>" and self.peek(2)[1:] == "("):
                break
            if not (character == "\\" and self.accept("\\\n")):
                parts += self._piece(character)
        return parts

    def _piece(self, character: str) -> list[Part]:
        match character:
            case "'" | '"' | "\\":
                return self._quote(character)
            case "$" | "`":
                return [self._expansion(is_quoted=False)]
            case "<" | ">":
                self.position += 2
                pipe = "/dev/stdin" if character == "<" else "/dev/stdout"
                return [Part(pipe, is_quoted=True, commands=self.substitution())]
            case _:
                self.position += 1
                return [Part(character)]

    def _quote(self, mark: str) -> list[Part]:
        self.position += 1
        if mark == '"':
            parts = self.quoted_text('"')
            self.expect('"')
            return parts or [Part("", is_quoted=True)]
        if mark == "\\":
            self.position += 1
            return [Part(self.text[self.position - 1 : self.position] or "\\", is_quoted=True)]
        end = self.text.find("'", self.position)
        if end < 0:
            raise Unreadable("a quote does not end")
        text, self.position = self.text[self.position : end], end + 1
        return [Part(text, is_quoted=True)]

    def quoted_text(self, end: str) -> list[Part]:
        """Read text in which only `$`, backticks and backslashes are special, up to `end`, or to the end if empty."""
        parts = list[Part]()
        special = re.compile(rf"[^$`\\{end}]+")
        while self.position < len(self.text) and not (end and self.peek() == end):
            if found := special.match(self.text, self.position):
                self.position = found.end()
                parts.append(Part(found.group(), is_quoted=True))
            elif self.accept("\\\n"):
                continue
            elif self.accept("\\"):
                following = self.peek()
                escapes = bool(following) and following in f"$`\\{end}"
                self.position += escapes
                parts.append(Part(following if escapes else "\\", is_quoted=True))
            else:
                parts.append(self._expansion(is_quoted=True))
        return parts

    def _expansion(self, *, is_quoted: bool) -> Part:
        if self.accept("`"):
            return self._output(lambda: self._backticks(is_quoted=is_quoted), is_quoted=is_quoted)
        self.position += 1
        if self.accept("(("):
            self._arithmetic("))")
            return Part(None, is_quoted=True)
        if self.accept("("):
            return self._output(self.substitution, is_quoted=is_quoted)
        if self.accept("{"):
            return self._parameter(is_quoted=is_quoted)
        if self.peek() == "[":
            raise Unreadable("it uses an outdated form of arithmetic")
        if not is_quoted and self.peek() in ("'", '"'):
            return self._special_quote()
        found = _NAME.match(self.text, self.position)
        if not found:
            return Part("$", is_quoted=True)
        self.position = found.end()
        name = found.group()
        return Part(None, is_quoted or name in _NUMBERS, name, is_list=name in _LISTS)

    def _output(self, read: Callable[[], tuple[int, int]], *, is_quoted: bool) -> Part:
        start = self.position
        commands = read()
        name = "PWD" if self.text[start : self.position - 1].strip(" ") == "pwd" else ""
        return Part(None, is_quoted, name, commands=commands)

    def _special_quote(self) -> Part:
        if self.peek() == '"':
            self.note("it translates text")
            self._quote('"')
            return Part(None, is_quoted=True)
        found = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.position)
        if not found:
            raise Unreadable("a quote does not end")
        self.position = found.end()
        value = ansi_c(found[1])
        if value is None:
            self.note("it has an unknown escape sequence")
        return Part(value, is_quoted=True)

    def _backticks(self, *, is_quoted: bool) -> tuple[int, int]:
        found = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.position)
        if not found:
            raise Unreadable("a backtick does not end")
        self.position = found.end()
        inner = re.sub(r'\\([\\`$"])' if is_quoted else r"\\([\\`$])", r"\1", found[1])
        return self.nested(inner, lambda lexer: lexer.script())

    def script(self) -> None:
        """Read the whole text as commands."""
        raise NotImplementedError

    def _arithmetic(self, end: str) -> None:
        """Read an arithmetic expression. A variable in it may hold `a[$(command)]`, which bash runs."""
        start, depth = self.position, 0
        while depth or not self.text.startswith(end, self.position):
            character = self.peek()
            if not character:
                raise Unreadable("an arithmetic expression does not end")
            depth += (character == "(") - (character == ")")
            if depth < 0:
                raise Unreadable("it has a subshell that looks like arithmetic")
            self.position += 1
        content = self.text[start : self.position]
        self.position += len(end)
        names = {found[1] or found[2] for found in _VARIABLE.finditer(content)}
        plain = _VARIABLE.sub("0", content)
        if not _LITERAL_ARITHMETIC.fullmatch(plain) or not all(is_number(name, self.text) for name in names):
            self.note("it evaluates arithmetic with values that are only known at run time")
            self.nested(content, lambda lexer: lexer.quoted_text(""))

    def arithmetic_command(self) -> None:
        self._arithmetic("))")

    def _parameter(self, *, is_quoted: bool) -> Part:
        found = _PARAMETER.match(self.text, self.position)
        if not found:
            raise Unreadable("it has an expansion that is not supported")
        name = found.group()
        self.position = found.end()
        is_list = name[-1:] in _LISTS or name.endswith(("[@]", "[*]"))
        if self.accept("}"):
            is_count = name.startswith("#") or name in _NUMBERS
            plain = "" if is_count or "[" in name else name
            return Part(None, is_quoted or is_count, plain, is_list=is_list and not is_count)
        if sliced := _SLICE.match(self.text, self.position):
            self.position = sliced.end()
        elif found := _REQUIRED_HOME.match(self.text, self.position - len(name)):
            self.position = found.end()
            return Part(None, is_quoted, name)
        elif operation := _OPERATION.match(self.text, self.position):
            self.position = operation.end()
        else:
            self.note("it has an expansion that may assign or evaluate")
        self._operand(is_quoted=is_quoted)
        return Part(None, is_quoted, is_list=is_list)

    def _operand(self, *, is_quoted: bool) -> None:
        """Read the rest of `${name…}`. Its commands are noted, its value is not known."""
        while (character := self.peek()) != "}":
            match character:
                case "":
                    raise Unreadable("an expansion does not end")
                case "'" if is_quoted:
                    raise Unreadable("an expansion has a quote whose meaning depends on its place")
                case "'" | '"' | "\\":
                    self._quote(character)
                case "$" | "`":
                    self._expansion(is_quoted=is_quoted)
                case "<" | ">" if self.peek(2)[1:] == "(" and not is_quoted:
                    self._piece(character)
                case _:
                    self.position += 1
        self.position += 1
