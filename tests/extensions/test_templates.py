import pytest

from extensions.lifecycle.templates import MAX_CHARS, TemplateError, Variables, parse_template

VARIABLES = Variables(frozenset({"branch", "user", "prompt"}), frozenset({"tools"}))
VALUES = {"branch": "main", "user": "", "prompt": "fix {{ user }}", "tools": [{"name": "grep"}, {"name": "bash"}]}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("On {{ branch }}: {{ prompt }}", "On main: fix {{ user }}"),
        ("{% if user %}Hello {{ user }}{% else %}Hello{% endif %}", "Hello"),
        ("{% for tool in tools %}\n- {{ tool.name }}\n{% endfor %}", "- grep\n- bash"),
        ("{{ branch | upper }} {{ 'x' if branch == 'main' else 'y' }}", "MAIN x"),
        ("{# a comment #}Just text", "Just text"),
        ("No variables: 100 % { }", "No variables: 100 % { }"),
    ],
)
def test_template_is_rendered(source: str, text: str):
    assert parse_template(source, "bug.toml", VARIABLES).render(VALUES) == text


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{ brunch }}", "bug.toml: the template uses the unknown variable 'brunch'; did you mean 'branch'?"),
        ("{{ zzz }}", "unknown variable 'zzz'; it may use branch, prompt, tools, user"),
        ("{{ branch", "line 1 of the template: unexpected end of template"),
        ("\n{% set x = 1 %}", "but no Assign"),
        ("{{ branch.__class__ }}", ""),
        ("{{ branch.upper() }}", "but no Call"),
        ("{{ 'x' * 1000000000 }}", "but no Mul"),
        ("{% for tool in tools %}{% for other in tools %}{% endfor %}{% endfor %}", "may not contain another one"),
        ("{% for letter in prompt %}{% endfor %}", "loops go through one of the lists tools"),
        ("{{ branch | center(1000000000) }}", "unknown filter 'center'"),
        ("{% include 'other' %}", "but no Include"),
        ("x" * (MAX_CHARS + 1), "the limit is 65,536"),
    ],
)
def test_mistakes_name_file_and_cause(source: str, problem: str):
    with pytest.raises(TemplateError, match=r"bug\.toml: ") as caught:
        parse_template(source, "bug.toml", VARIABLES).render(VALUES)

    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "source", ["{{ prompt }}" * 5_000, "{{ tools | join(prompt) }}", "{{ prompt | join(prompt) }}"]
)
def test_text_is_bounded(source: str):
    values = VALUES | {"prompt": "x" * 20_000, "tools": ["tool"] * 1_000}

    with pytest.raises(TemplateError, match=r"more than 65,536 characters|not a text"):
        parse_template(source, "bug.toml", VARIABLES).render(values)
