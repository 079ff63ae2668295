from pathlib import Path

import pytest

from extensions.locations import BUNDLED, Root
from extensions.skills import MAX_SECTION, LoadedSkills, Skill, load_skills, skill_template, skills_section
from extensions.template_rules import template_rules


def write(root: Path, name: str, text: str) -> Path:
    path = root / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def load(*folders: Path) -> LoadedSkills:
    return load_skills(Root(folder, "user") for folder in folders)


def test_first_root_with_a_name_counts(tmp_path: Path):
    for each in ("near", "far"):
        write(tmp_path / each, "deploy", f"---\nname: deploy\ndescription: Deploy {each}\n---\nSteps.")

    loaded = load(tmp_path / "near", tmp_path / "far")

    assert [(each.name, each.description) for each in loaded.skills] == [("deploy", "Deploy near")]
    assert loaded.problems == ()


def test_titles_and_long_descriptions_are_no_problem(tmp_path: Path):
    write(tmp_path, "a", f"---\nname: A Title\ndescription: {'x' * 1025}\n---\n")

    loaded = load(tmp_path)

    assert [(each.name, each.description) for each in loaded.skills] == [("a", "x" * 1023 + "…")]
    assert loaded.problems == ()


@pytest.mark.parametrize(
    ("text", "description", "problem"),
    [
        ("---\nname: other\ndescription: Use it\n---\nBody", "Use it", "the name 'other' is not that of its folder"),
        ("---\nname: a\n---\nFirst\nlines.\n\nSecond.", "First lines.", "has no description"),
    ],
)
def test_mistakes_are_reported_and_the_skill_is_used(tmp_path: Path, text: str, description: str, problem: str):
    write(tmp_path, "a", text)

    loaded = load(tmp_path)

    assert [(each.name, each.description) for each in loaded.skills] == [("a", description)]
    assert problem in " ".join(loaded.problems)


def test_unusable_skills_are_skipped_with_a_reason(tmp_path: Path):
    write(tmp_path, "large", "x" * (256 * 1024 + 1))
    write(tmp_path, "Not a name", "---\ndescription: x\n---\n")
    write(tmp_path, "binary", "").write_bytes(b"\xff\xfe\xfa")

    loaded = load(tmp_path)

    assert loaded.skills == ()
    assert [problem.partition(" is skipped: ")[2] for problem in loaded.problems] == [
        "rename its folder to at most 64 of a-z, 0-9 and single hyphens",
        "it is not UTF-8 text",
        "it is a file of 262,145 bytes; the limit is 262,144",
    ]


@pytest.mark.parametrize("length", [0, 30, 1_000])
def test_index_of_200_skills_names_all_within_the_budget(length: int):
    skills = [Skill(f"skill-{number}", "d" * length, Path()) for number in range(200)]

    section = skills_section(skills)

    assert len(section) <= MAX_SECTION
    assert all(skill.name in section for skill in skills)


def test_index_states_how_many_names_are_left_out():
    section = skills_section([Skill(f"{'n' * 50}-{number}", "", Path()) for number in range(200)])

    listed = section.count("n" * 50)
    assert len(section) <= MAX_SECTION
    assert f"{200 - listed} more skills are left out here" in section


def test_index_has_no_skill_that_only_the_user_may_start():
    assert skills_section([Skill("a", "Use it", Path(), for_model=False)]) == ""


def test_text_has_arguments_folder_and_files(tmp_path: Path):
    path = write(tmp_path, "a", "---\nname: a\n---\nDeploy $ARGUMENTS.")
    (path.parent / "run.sh").write_text("")

    text = skill_template(path).fill("now").unexecuted

    assert text == f"Deploy now.\n\n[Folder of this skill: {path.parent}\nIts other files: run.sh]"


def test_skills_of_a_plugin_have_its_name_before_theirs(tmp_path: Path):
    path = write(tmp_path, "deploy", "---\nname: deploy\ndescription: Deploy\n---\nRun ${CLAUDE_PLUGIN_ROOT}/x")

    (skill,) = load_skills([Root(tmp_path, "plugin", plugin="ops")]).skills

    assert skill.name == "ops:deploy"
    assert f"Run {tmp_path}/x" in skill_template(path).fill("", skill.variables).unexecuted


def test_entries_that_are_no_skills_are_ignored(tmp_path: Path):
    write(tmp_path, "a", "---\nname: a\ndescription: A\n---\n")
    (tmp_path / "skills" / "README.md").write_text("Notes")
    (tmp_path / "skills" / "empty").mkdir()

    loaded = load(tmp_path)

    assert ([each.name for each in loaded.skills], loaded.problems) == (["a"], ())


def test_bundled_skills_are_valid_and_cost_no_tokens():
    loaded = load_skills([BUNDLED])

    assert [each.name for each in loaded.skills] == ["commit", "debug", "review", "verify", "write-skill"]
    assert loaded.problems == ()
    assert skills_section(loaded.skills) == ""
    templates = [skill_template(each.path) for each in loaded.skills]
    assert [problem for each in templates for problem in template_rules(each, "x").problems] == []
    assert all("Fix it" in each.fill("Fix it").unexecuted for each in templates)
