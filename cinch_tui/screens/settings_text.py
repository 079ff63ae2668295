"""Texts of the settings screen: rows and description of the selected setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from cinch_tui.config.names import effect_time
from cinch_tui.config.store import SettingState, shown_value
from cinch_tui.fuzzy_match import rank_matches
from cinch_tui.rendering.safe_text import one_line
from cinch_tui.widgets.item_list import ItemRow

_GROUPS = {
    "model": "Model",
    "providers": "Providers",
    "limits": "Run limits",
    "retry": "Retries",
    "prompt_cache": "Prompt cache",
    "tools": "Tools",
    "approval": "Approval",
    "plan": "Plan mode",
    "steering": "Messages during a run",
    "subagents": "Subagents",
    "ui": "Interface",
}


def lines_of(standings: Sequence[SettingState], query: str) -> list[SettingState | str]:
    """Return the settings below group titles, or search results: name matches first, then description matches."""
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
    """Return list rows: name, value and origin."""
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
    """Return the description of a setting: meaning, overrides and choices."""
    return Content("\n").join([Content.assemble(*line) for line in _about(standing)])


def _about(standing: SettingState) -> Iterator[Sequence[tuple[str, str] | str]]:
    key = standing.key
    yield (one_line(key.name), "bold"), f"  {one_line(key.doc)}"
    if standing.session_value is not None:
        now = one_line(shown_value(standing.session_value))
        yield ((f"now {now} in this session; a change here replaces it", "$text-warning"),)
    if standing.override and key.kind is not tuple:
        own = (
            f"; your file sets {one_line(shown_value(standing.user_value))}" if standing.user_value is not None else ""
        )
        yield ((f"overridden by {one_line(standing.override.place)}{own}", "$text-warning"),)
    elif standing.override:
        yield (f"{one_line(standing.override.place)} adds to the value of your file",)
    elif standing.origin:
        yield (f"set in {one_line(standing.origin.place)}",)
    if standing.is_held_back:
        yield (("also set by the project's file, which is not trusted; run: cinch config trust", "$text-warning"),)
    choices = f"{', '.join(key.choices)} · " if key.choices else ""
    yield (f"{choices}default {shown_value(key.default)} · {key.variable} · applies {effect_time(key.name)}",)


def _name(standing: SettingState, *, whole: bool) -> str:
    return standing.key.name if whole else f"  {standing.key.name.partition('.')[2]}"
