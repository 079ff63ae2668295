"""Templates with `{{ variables }}`, in the syntax of Jinja.

A template may use variables, conditions, loops over lists and a few filters. Nothing else: it can neither call code nor
take long, since loops are not nested and lists are short. Mistakes are found when it is parsed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from harness.errors import ConfigError

if TYPE_CHECKING:
    from jinja2 import nodes
    from jinja2.sandbox import ImmutableSandboxedEnvironment

Record: TypeAlias = Mapping[str, str]
Values: TypeAlias = Mapping[str, str | Sequence[str] | Sequence[Record]]
"""Values of variables by name: texts, lists of texts, and lists of records."""

MAX_CHARS = 64 * 1024
"""Maximum length of a template, and of a text made from it, in characters."""
_FILTERS = ("default", "first", "join", "last", "length", "lower", "title", "trim", "upper")
_NODES = frozenset(
    {"Template", "Output", "TemplateData", "Name", "Const", "Getattr", "Filter", "For"}
    | {"If", "CondExpr", "Compare", "Operand", "And", "Or", "Not"}
)
"""Names of the nodes of Jinja's syntax tree that a template may have."""


class TemplateError(ConfigError, ValueError):
    """A template is invalid, or cannot be rendered; the message names it."""


class Variables(Struct, frozen=True):
    """Names of the variables that a template may use."""

    texts: frozenset[str]
    """Names of texts."""
    lists: frozenset[str]
    """Names of lists."""


class Template(Struct, frozen=True):
    """A template without mistakes."""

    source: str
    """Its text."""
    name: str
    """File that it comes from, for errors."""

    @property
    def is_plain(self) -> bool:
        """True if the template is a text without variables."""
        return "{{" not in self.source and "{%" not in self.source and "{#" not in self.source

    def render(self, values: Values) -> str:
        """Return the text of the template.

        Raises:
            TemplateError: The text is too long, or a value does not fit its use.
        """
        if self.is_plain:
            return self.source
        size, parts = 0, list[str]()
        try:
            for part in _environment().from_string(self.source).generate(values):
                size += len(part)
                if size > MAX_CHARS:
                    raise ValueError(f"its text would have more than {MAX_CHARS:,} characters")
                parts.append(part)
        # Jinja's errors, and those of filters.
        except Exception as error:
            raise TemplateError(f"{self.name}: {error}") from error
        return "".join(parts).strip()


def parse_template(source: str, name: str, variables: Variables) -> Template:
    """Check a template.

    Args:
        source: Its text.
        name: File that it comes from, for errors.
        variables: Variables that it may use.

    Raises:
        TemplateError: It uses a variable that does not exist, or what templates may not.
    """
    if len(source) > MAX_CHARS:
        raise TemplateError(f"{name}: the template has {len(source):,} characters; the limit is {MAX_CHARS:,}")
    template = Template(source.strip(), name)
    if not template.is_plain:
        _check(template, variables)
    return template


def _check(template: Template, variables: Variables) -> None:
    # Imported here because most templates are plain, and few users have any.
    from jinja2 import TemplateSyntaxError, meta, nodes

    try:
        tree = _environment().parse(template.source)
    except TemplateSyntaxError as error:
        raise TemplateError(f"{template.name}: line {error.lineno} of the template: {error.message}") from error
    for node in tree.find_all(nodes.Node):
        if problem := _problem(node, variables):
            raise TemplateError(f"{template.name}: line {node.lineno} of the template: {problem}")
    known = sorted(variables.texts | variables.lists)
    for unknown in sorted(meta.find_undeclared_variables(tree).difference(known)):
        near = get_close_matches(unknown, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it may use {', '.join(known)}"
        raise TemplateError(f"{template.name}: the template uses the unknown variable {unknown!r}; {hint}")


def _problem(node: nodes.Node, variables: Variables) -> str:
    """Return why a template may not contain a node; empty if it may."""
    from jinja2 import nodes

    kind = type(node).__name__
    if kind not in _NODES:
        return f"templates have variables, conditions, loops and filters, but no {kind}"
    if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
        return f"unknown filter {node.name!r}; known: {', '.join(_FILTERS)}"
    if isinstance(node, nodes.For):
        if next(node.find_all(nodes.For), None) is not None:
            return "a loop may not contain another one"
        if not isinstance(node.iter, nodes.Name) or node.iter.name not in variables.lists:
            return f"loops go through one of the lists {', '.join(sorted(variables.lists))}"
    return ""


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals.clear()
    environment.filters["join"] = _join  # pyright: ignore[reportArgumentType] their type is that of Jinja's own
    return environment


def _join(values: Sequence[str], separator: str = ", ") -> str:
    # Jinja's own accepts a text as well, whose characters could be joined to a text of any length.
    if isinstance(values, str):
        raise TypeError("the filter join needs a list, not a text")
    return separator.join(map(str, values))
