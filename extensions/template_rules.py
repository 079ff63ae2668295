"""Permission rules in the metadata of skills and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from extensions.prompt_templates import PromptTemplate, with_variables
from harness.approval.claude_settings import rules_of
from harness.errors import ConfigError
from harness.permissions import Effect, Rule, RuleSource


class TemplateRules(Struct, frozen=True):
    """Permission rules of a template."""

    rules: tuple[Rule, ...]
    """The rules, which last until the end of the run that uses the template."""
    problems: tuple[str, ...]
    """Reasons that other entries have no effect."""


def template_rules(template: PromptTemplate, name: str, variables: Mapping[str, str] = {}) -> TemplateRules:
    """Return the rules of a template.

    Args:
        template: The template.
        name: Its name for the user, such as `/review`.
        variables: Values of `${NAME}` by name.
    """
    rules: list[Rule] = []
    problems: list[str] = []
    written: Sequence[tuple[Effect, tuple[str, ...]]] = (
        ("allow", template.allowed_tools),
        ("deny", template.denied_tools),
    )
    for effect, entries in written:
        for entry in entries:
            try:
                rules += rules_of(with_variables(entry, variables), effect, RuleSource("session", name))
            except ConfigError as error:
                problems.append(f"{entry!r} in {name} has no effect: {error}")
    return TemplateRules(tuple(rules), tuple(problems))
