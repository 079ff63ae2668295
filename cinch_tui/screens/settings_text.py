"""What the settings screen writes: its lines, and what it tells of the setting under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from cinch_tui.config.effect_time import effect_time
from cinch_tui.config.store import SettingState
from cinch_tui.config.text import shown_value
from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.transcript.plain import one_line
from cinch_tui.widgets.item_list import ItemRow

_GROUPS = {
    "model": "Model",
    "providers": "When a model fails",
    "limits": "Limits of a run",
    "retry": "Asking again",
    "prompt_cache": "Prompt cache",
    "tools": "How tools run",
    "approval": "Approval",
    "plan": "Plan mode",
    "steering": "What is said meanwhile",
    "subagents": "Subagents",
    "ui": "The screen",
}


def lines_of(standings: Sequence[SettingState], query: str) -> list[SettingState | str]:
    """The settings under the titles of their groups; those that fit what is looked for, the closest first, then those
    that only say it of themselves."""
    if query.strip():
        named = rank_matches(query, [each.key.name for each in standings])
        words = query.casefold().split()
        told = [at for at, each in enumerate(standings) if all(word in each.key.doc.casefold() for word in words)]
        return [standings[at] for at in dict.fromkeys([*named, *told])]
    lines: list[SettingState | str] = []
    group = ""
    for standing in standings:
        if group != (group := standing.key.name.partition(".")[0]):
            lines.append(_GROUPS.get(group, group.capitalize()))
        lines.append(standing)
    return lines


def rows_of(lines: Sequence[SettingState | str], query: str) -> list[ItemRow]:
    """The same as they are drawn: the name, what it is, and where that comes from."""
    whole = bool(query.strip())
    width = max((len(_name(line, whole=whole)) for line in lines if isinstance(line, SettingState)), default=0)
    return [
        ItemRow(line, "", is_title=True)
        if isinstance(line, str)
        else ItemRow(f"{_name(line, whole=whole):<{width}}  {_value(line)}", one_line(line.source))
        for line in lines
    ]


def _value(standing: SettingState) -> str:
    here = f" · now {shown_value(standing.session_value)}" if standing.session_value is not None else ""
    return one_line(f"{standing.value}{here}")


def about(standing: SettingState) -> Content:
    """What it means, what has the last word, and what else it may be; the most important first."""
    return Content("\n").join([Content.assemble(*line) for line in _about(standing)])


def _about(standing: SettingState) -> Iterator[Sequence[tuple[str, str] | str]]:
    key = standing.key
    yield (one_line(key.name), "bold"), f"  {one_line(key.doc)}"
    if standing.session_value is not None:
        now = one_line(shown_value(standing.session_value))
        yield ((f"in this session it is {now}, until you change it here", "$text-warning"),)
    if standing.override and key.kind is not tuple:
        own = (
            f"; your file says {one_line(shown_value(standing.user_value))}" if standing.user_value is not None else ""
        )
        yield ((f"{one_line(standing.override.place)} has the last word here{own}", "$text-warning"),)
    elif standing.override:
        yield (f"{one_line(standing.override.place)} adds to what your file says",)
    elif standing.origin:
        yield (f"set in {one_line(standing.origin.place)}",)
    if standing.is_held_back:
        yield (("the project's file sets it too, and is not trusted: cinch config trust", "$text-warning"),)
    choices = f"{', '.join(key.choices)} · " if key.choices else ""
    yield (f"{choices}default {shown_value(key.default)} · {key.variable} · applies {effect_time(key.name)}",)


def _name(standing: SettingState, *, whole: bool) -> str:
    return standing.key.name if whole else f"  {standing.key.name.partition('.')[2]}"
