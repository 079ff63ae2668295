"""Table of all key bindings: the source of Textual's bindings, the help and the documentation. Loads no screen.

The part of an id before the dot is the owner. Ids are stable, since users' configuration files contain them.
"""

from __future__ import annotations

from msgspec import Struct

from cinch_tui.keybindings.names import key_label


class Key(Struct, frozen=True):
    """A key binding."""

    id: str
    keys: str
    """Keys as Textual spells them, separated by commas."""

    description: str
    call: str = ""
    """The action with its parameters, such as `scroll('up')`, if it is not the rest of the id."""

    priority: bool = False
    """True to take precedence over the focused widget."""

    required: bool = False
    """True if the user could not continue without this key, so that it cannot be removed."""

    @property
    def owner(self) -> str:
        return self.id.partition(".")[0]

    @property
    def action(self) -> str:
        return self.call or self.id.partition(".")[2]

    @property
    def label(self) -> str:
        return keys_label(self.keys)


def keys_label(keys: str) -> str:
    """Return the label of keys; several digits are shown as a range."""
    if not keys:
        return "no key"
    *others, last = (key_label(key) for key in keys.split(","))
    if others and all(label.isdecimal() for label in (*others, last)):
        return f"{others[0]} to {last}"
    return f"{', '.join(others)} or {last}" if others else last


PLACES: dict[str, str] = {
    "prompt": "In the prompt",
    "line": "Editing a line",
    "chat": "In the chat",
    "transcript": "In the conversation",
    "search": "Searching the conversation",
    "tools": "In the list of running calls",
    "queue": "In the list of queued messages",
    "panel": "In a panel",
    "reader": "In the detail view of a panel",
    "app": "Everywhere",
    "approval": "In an approval dialog",
    "review": "Reviewing an edit hunk by hunk",
    "view": "In the preview of a call",
    "question": "In a question of the model",
    "plan": "In the review of a plan",
    "changes": "In /diff",
    "picker": "In a picker",
    "key_entry": "Entering an API key",
    "settings": "In the settings",
    "context": "In /context",
    "help": "In the help",
    "welcome": "On the welcome screen",
    "list": "In a list of answers",
    "confirmation": "In a confirmation dialog",
    "short_list": "In a dialog with a few answers",
    "answers": "In the answers of a dialog",
    "docked": "In a dialog docked below the conversation",
    "dialog": "In every dialog",
}
"""Owners with their place, in the order of the help."""

FIXED = ("list",)
"""Owners whose keys cannot be changed, since Textual defines them."""

TYPED_IN = ("prompt", "line", "chat", "search", "app", "picker", "key_entry", *FIXED)
"""Owners that are active while the user types text."""

_SCOPES: tuple[tuple[str, ...], ...] = (
    ("line", "prompt", "chat", "app"),
    ("transcript", "chat", "app"),
    ("search", "chat", "app"),
    ("tools", "chat", "app"),
    ("queue", "chat", "app"),
    ("panel", "chat", "app"),
    ("review", "view", "approval", "answers", "docked", "dialog"),
    ("review", "view", "changes", "list", "dialog"),
    ("question", "list", "docked", "dialog"),
    ("plan", "answers", "docked", "dialog"),
    ("confirmation", "answers", "dialog"),
    ("short_list", "list", "dialog"),
    ("welcome", "list", "dialog"),
)


def key_scopes() -> list[list[Key]]:
    """Return the keys that are active in the same place, place by place."""
    named = {owner for chain in _SCOPES for owner in chain}
    others = dict.fromkeys(key.owner for key in KEYS if key.owner not in named)
    everywhere = [key for key in KEYS if key.owner == "app" and key.priority]
    places = [*_SCOPES, *((owner, "dialog") for owner in others if owner not in FIXED)]
    return [[key for key in KEYS if key.owner in place] + ([] if "app" in place else everywhere) for place in places]


def _digits(owner: str, description: str) -> tuple[Key, ...]:
    """Return the keys 1 to 9, each of which picks an item."""
    return tuple(Key(f"{owner}.pick_{at}", f"{at}", description, call=f"pick({at - 1})") for at in range(1, 10))


KEYS: tuple[Key, ...] = (
    Key("prompt.submit", "enter", "send; during a run: steer; empty: deliver queued messages now", required=True),
    Key("prompt.follow_up", "alt+enter", "send as a follow-up when the run ends"),
    Key("prompt.newline", "shift+enter,ctrl+j", "new line (also \\ and Enter)"),
    Key("prompt.older", "up", "earlier prompt, from the first line", call="walk(-1)"),
    Key("prompt.newer", "down", "later prompt, from the last line", call="walk(1)"),
    Key("prompt.earlier", "ctrl+p", "as ↑; in an empty prompt, all commands"),
    Key("prompt.later", "ctrl+n", "as ↓"),
    Key("prompt.search_history", "ctrl+r", "search earlier prompts; again: an older one"),
    Key("prompt.stop_search", "ctrl+c", "end the search and restore the typed text"),
    Key("prompt.complete", "tab", "accept the completion"),
    Key("prompt.close_popup", "escape", "close the completion"),
    Key("prompt.paste", "ctrl+v,alt+v", "paste from the clipboard, including images"),
    Key("prompt.open_editor", "ctrl+g", "edit the prompt in $EDITOR"),
    Key("line.left", "left", "one character left", call="cursor_left"),
    Key("line.right", "right", "one character right", call="cursor_right"),
    Key("line.up", "up", "a line up", call="cursor_up"),
    Key("line.down", "down", "a line down", call="cursor_down"),
    Key("line.start", "home,ctrl+a", "to the start of the line", call="cursor_line_start"),
    Key("line.end", "end,ctrl+e", "to the end of the line", call="cursor_line_end"),
    Key("line.letter_left", "ctrl+b", "one character left", call="cursor_left"),
    Key("line.letter_right", "ctrl+f", "one character right"),
    Key("line.word_left", "alt+b,alt+left,ctrl+left", "a word back"),
    Key("line.word_right", "alt+f,alt+right,ctrl+right", "a word forward"),
    Key("line.erase_letter", "ctrl+h", "delete the character before the cursor", call="delete_left"),
    Key("line.kill_blank_word_back", "ctrl+w", "cut back to the previous blank"),
    Key("line.kill_word_back", "alt+backspace,ctrl+backspace", "cut the word before the cursor"),
    Key("line.kill_word", "alt+d,alt+delete,ctrl+delete", "cut the word after the cursor"),
    Key("line.kill_line", "ctrl+k", "cut to the end of the line"),
    Key("line.kill_line_back", "ctrl+u", "cut to the start of the line"),
    Key("line.yank", "ctrl+y", "paste the last cut text"),
    Key("line.yank_other", "alt+y", "after that: replace it by an earlier cut"),
    Key("line.swap_letters", "ctrl+t", "swap two characters"),
    Key("line.swap_words", "alt+t", "swap two words"),
    Key("line.upper_word", "alt+u", "uppercase word"),
    Key("line.lower_word", "alt+l", "lowercase word"),
    Key("line.capital_word", "alt+c", "capitalize word"),
    Key("line.undo", "ctrl+underscore,ctrl+shift+minus,ctrl+slash,super+z", "undo"),
    Key("line.redo", "alt+e,ctrl+shift+z,super+y", "redo"),
    Key("line.erase_back", "backspace", "delete the character before the cursor", call="delete_left"),
    Key("line.erase", "delete,ctrl+d", "delete the character after the cursor", call="delete_right"),
    Key("line.erase_line", "ctrl+shift+k", "delete the line", call="delete_line"),
    Key("line.select_left", "shift+left", "select one character left", call="cursor_left(True)"),
    Key("line.select_right", "shift+right", "select one character right", call="cursor_right(True)"),
    Key("line.select_up", "shift+up", "select a line up", call="cursor_up(True)"),
    Key("line.select_down", "shift+down", "select a line down", call="cursor_down(True)"),
    Key("line.select_word_left", "ctrl+shift+left", "select a word back", call="cursor_word_left(True)"),
    Key("line.select_word_right", "ctrl+shift+right", "select a word forward", call="cursor_word_right(True)"),
    Key("line.select_start", "shift+home", "select to the start of the line", call="cursor_line_start(True)"),
    Key("line.select_end", "shift+end", "select to the end of the line", call="cursor_line_end(True)"),
    Key("line.select_line", "alt+h", "select the line"),
    Key("line.select_all", "f7,alt+a", "select all"),
    Key("line.cut", "ctrl+x,super+x", "cut the selection"),
    Key("line.copy", "ctrl+c,super+c", "copy the selection"),
    Key("chat.abort", "escape", "deliver a queued message now, else stop the agent"),
    Key("chat.interrupt", "ctrl+c", "copy the selection, else stop, else clear, else quit", required=True),
    Key("chat.leave", "ctrl+d", "twice in an empty prompt: quit"),
    Key("chat.toggle_plan", "shift+tab", "plan mode on or off"),
    Key("chat.help", "f1", "help"),
    Key("chat.change_sides", "tab", "move focus between prompt and conversation"),
    Key("chat.toggle_fold", "f2", "expand or collapse the selected block", call="transcript('fold')"),
    Key("chat.next_colours", "f3", "cycle the theme: yours, plain light, plain dark"),
    Key("chat.toggle_channels", "f5,alt+o", "show or hide thinking and system messages"),
    Key("chat.next_approval", "f6", "cycle the approval mode: smart, on, off"),
    Key("chat.next_model", "f4", "switch to the next configured or recent model, from the next prompt on"),
    Key("chat.previous_block", "shift+left", "select the previous block"),
    Key("chat.next_block", "shift+right", "select the next block"),
    Key("chat.page_up", "pageup,alt+k", "page up in the conversation", call="transcript('page_up')"),
    Key("chat.page_down", "pagedown,alt+j", "page down in the conversation", call="transcript('page_down')"),
    Key("chat.scroll_top", "ctrl+home", "to the start of the conversation", call="transcript('scroll_home')"),
    Key("chat.scroll_end", "ctrl+end", "to the end of the conversation", call="transcript('scroll_end')"),
    Key("chat.page_transcript", "ctrl+o", "open the conversation in $PAGER"),
    Key(
        "chat.previous_prompt",
        "alt+up",
        "to the previous prompt in the conversation",
        call="transcript('previous_prompt')",
    ),
    Key("chat.next_prompt", "alt+down", "to the next prompt, then to the end", call="transcript('next_prompt')"),
    Key("chat.search", "ctrl+f", "find in the conversation"),
    Key("chat.context", "f8", "show the context window usage"),
    Key("chat.queue", "alt+q", "focus the list of queued messages"),
    Key("chat.sessions", "alt+s", "resume an earlier session"),
    Key("chat.focus_panel", "f9,alt+p", "focus the running calls, then the panel, then the prompt"),
    Key("chat.next_panel", "f10,alt+n", "show the next panel; after the last one, none"),
    Key("transcript.above", "shift+up,alt+b", "select the block above, of any type"),
    Key("transcript.below", "shift+down,alt+f", "select the block below"),
    Key("transcript.copy", "y", "on a selected block: copy it"),
    Key("transcript.copy_code", "c", "on a selected block: copy its last code block; again: the one before"),
    Key("transcript.unfold", "enter", "expand or collapse the selected block, or the last call"),
    Key("transcript.mark", "v", "on a selected block: mark lines from there; ↑ ↓ extend, y copies"),
    Key("transcript.links", "l", "on a selected block: open or copy a link"),
    Key("transcript.open", "o", "on a selected block: open its image in a viewer"),
    Key("transcript.stamps", "t", "on a selected block: show or hide the times"),
    Key("transcript.leave", "escape", "back to the prompt", required=True),
    Key("search.earlier", "up,enter", "the match above"),
    Key("search.later", "down,shift+enter", "the match below"),
    Key("search.stay", "tab", "end the search at the match"),
    Key("search.back", "escape", "end the search, back to the start position", required=True),
    Key("tools.up", "up,k", "the call above", call="move(-1)"),
    Key("tools.down", "down,j", "the call below", call="move(1)"),
    Key("tools.cancel", "x,delete", "cancel this call; the others continue", call="do('cancel')"),
    Key("tools.background", "b", "continue this command in the background", call="do('background')"),
    Key("tools.show", "enter", "show this call in the conversation", call="do('show')"),
    Key("tools.leave", "escape", "back to the prompt", required=True),
    Key("queue.up", "up,k", "the message above", call="move(-1)"),
    Key("queue.down", "down,j", "the message below", call="move(1)"),
    Key("queue.edit", "enter,e", "edit it in the prompt; Enter puts it back", call="ask('edit')"),
    Key("queue.remove", "d,delete,backspace", "remove it; ↑ in the prompt recalls it", call="ask('remove')"),
    Key("queue.earlier", "shift+up,K", "move it up", call="ask('earlier')"),
    Key("queue.later", "shift+down,J", "move it down", call="ask('later')"),
    Key("queue.switch", "s", "switch between steering and follow-up", call="ask('switch')"),
    Key("queue.leave", "escape", "back to the prompt", required=True),
    Key("panel.up", "up,k", "the line above", call="move(-1)"),
    Key("panel.down", "down,j", "the line below", call="move(1)"),
    Key("panel.page_up", "pageup,alt+k", "page up", call="page(-1)"),
    Key("panel.page_down", "pagedown,alt+j", "page down", call="page(1)"),
    Key("panel.first", "home", "the first line", call="move(-1000000)"),
    Key("panel.last", "end", "the last line", call="move(1000000)"),
    Key("panel.open", "enter", "show details: diff, output or activity", call="do('open')"),
    Key("panel.stop", "x,delete", "stop this job or subagent", call="do('stop')"),
    Key("panel.turn", "l", "in the log: change the level", call="do('turn')"),
    Key("panel.next", "right,tab", "the next panel", call="do('next')"),
    Key("panel.previous", "left,shift+tab", "the previous panel", call="do('previous')"),
    Key("panel.close", "q", "close the panel", call="do('close')"),
    Key("panel.leave", "escape", "back to the prompt", required=True),
    Key("reader.close", "escape,q,enter", "close", required=True),
    Key("reader.up", "k", "a line up (also ↑)", call="scroll(-1)"),
    Key("reader.down", "j", "a line down (also ↓)", call="scroll(1)"),
    Key("reader.page_down", "space", "page down (also PgDn)", call="page(1)"),
    Key("app.command_palette", "ctrl+p", "all commands"),
    # With priority over fields that use the key.
    Key("app.suspend_process", "ctrl+z", "suspend to the shell; fg resumes", priority=True),
    Key("app.quit", "ctrl+q", "quit", priority=True),
    Key("approval.once", "y", "allow once"),
    Key("approval.session", "s", "allow for this session"),
    Key("approval.always", "a", "always allow in this project"),
    Key("approval.exactly", "x", "always allow exactly this in this project"),
    Key("approval.next", "right", "the next pending call", call="go(1)"),
    Key("approval.previous", "left", "the previous pending call", call="go(-1)"),
    Key("approval.allow_all", "A", "allow all pending calls that are not dangerous"),
    Key("approval.allow_tool", "T", "allow all pending calls of this tool"),
    Key("approval.deny_all", "N", "deny all pending calls"),
    Key("approval.up", "k", "the previous answer (also ↑)", call="mark(-1)"),
    Key("approval.down", "j", "the next answer (also ↓)", call="mark(1)"),
    Key("approval.review", "h", "review the changes hunk by hunk"),
    Key("approval.rewrite", "e", "edit it in $EDITOR, then decide"),
    Key("approval.deny", "n", "deny"),
    Key("approval.back", "escape", "deny; in the review or the reason: back", required=True),
    Key("approval.explain", "d", "deny with a reason"),
    Key("approval.split", "v", "toggle side-by-side view"),
    Key("approval.unfold", "u", "show or hide unchanged lines"),
    Key("approval.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("approval.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("approval.line_up", "ctrl+up", "a line up", call="scroll(-1)", priority=True),
    Key("approval.line_down", "ctrl+down", "a line down", call="scroll(1)", priority=True),
    Key("approval.top", "ctrl+home", "to the top", call="scroll(-1000000)", priority=True),
    Key("approval.end", "ctrl+end", "to the end", call="scroll(1000000)", priority=True),
    Key("question.up", "k", "the choice above (also ↑)", call="mark(-1)"),
    Key("question.down", "j", "the choice below (also ↓)", call="mark(1)"),
    *_digits("question", "the choice of that number"),
    Key("question.tick", "space", "select or deselect the choice, if several are allowed"),
    Key("question.next", "tab,right", "the next question, if there are several", call="go(1)"),
    Key("question.previous", "shift+tab,left", "the previous question", call="go(-1)"),
    Key("question.edit", "e", "edit the choice"),
    Key("question.write", "o", "write another answer"),
    Key("question.back", "escape", "skip; while typing: back to the choices", required=True),
    Key("question.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("question.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("review.next", "down,j", "the next change", call="go(1)"),
    Key("review.previous", "up,k", "the previous change", call="go(-1)"),
    Key("review.flip", "space", "accept or skip this change"),
    Key("review.take", "y", "accept this change and continue", call="decide(True)"),
    Key("review.leave", "n", "skip this change and continue", call="decide(False)"),
    Key("review.explain", "d", "skip this change with a reason"),
    Key("review.all", "a", "accept all changes"),
    Key("review.none", "r", "skip all changes"),
    Key("review.finish", "enter", "back to the answers", required=True),
    Key("view.up", "k", "a line up (also ↑)", call="scroll_up"),
    Key("view.down", "j", "a line down (also ↓)", call="scroll_down"),
    Key("plan.accept", "y", "accept"),
    Key("plan.accept_with_edits", "a", "accept and allow all edits this session"),
    Key("plan.reject", "n", "keep planning"),
    Key("plan.keep_planning", "d", "keep planning, with feedback"),
    Key("plan.edit", "e", "edit the plan in $EDITOR"),
    Key("plan.up", "k", "the previous answer (also ↑)", call="mark(-1)"),
    Key("plan.down", "j", "the next answer (also ↓)", call="mark(1)"),
    Key("plan.back", "escape", "keep planning", required=True),
    Key("plan.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("plan.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("changes.back", "escape,q", "back, or close", required=True),
    Key("changes.base", "g", "compare with the start of the session, or with git"),
    Key("changes.put_back_file", "x", "revert the whole file"),
    Key("changes.put_back_marked", "w", "revert the skipped changes"),
    Key("confirmation.no", "n,escape", "no", required=True),
    Key("confirmation.yes", "y", "yes"),
    *_digits("short_list", "the answer of that number"),
    Key("short_list.cancel", "escape", "close without an answer", required=True),
    Key("changes.split", "v", "toggle side-by-side view"),
    Key("changes.unfold", "u", "show or hide unchanged lines"),
    Key("changes.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("changes.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("picker.up", "up", "the item above", call="move(-1)", priority=True),
    Key("picker.down", "down", "the item below", call="move(1)", priority=True),
    Key("picker.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("picker.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("picker.first", "ctrl+home", "the first item", call="move(-1000000)", priority=True),
    Key("picker.last", "ctrl+end", "the last item", call="move(1000000)", priority=True),
    Key("picker.cancel", "escape", "cancel", required=True),
    Key("key_entry.cancel", "escape", "cancel; no key is stored", required=True),
    Key("settings.up", "up", "the setting above", call="move(-1)", priority=True),
    Key("settings.down", "down", "the setting below", call="move(1)", priority=True),
    Key("settings.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("settings.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("settings.first", "ctrl+home", "the first setting", call="move(-1000000)", priority=True),
    Key("settings.last", "ctrl+end", "the last setting", call="move(1000000)", priority=True),
    Key("settings.next", "right,space", "the next choice", call="step(1)", priority=True),
    Key("settings.previous", "left", "the previous choice", call="step(-1)", priority=True),
    Key("settings.reset", "delete,ctrl+r", "reset to the default", priority=True),
    Key("settings.open_file", "ctrl+g", "open the file in $EDITOR", priority=True),
    Key("settings.back", "escape", "leave the field, end the search, or close", required=True),
    Key("context.up", "up", "the message above; in the reader: a line up", call="move(-1)", priority=True),
    Key("context.down", "down", "the message below; a line down", call="move(1)", priority=True),
    Key("context.page_up", "pageup,alt+k", "ten messages up; a page up", call="page(-1)", priority=True),
    Key("context.page_down", "pagedown,alt+j", "ten messages down; a page down", call="page(1)", priority=True),
    Key("context.first", "home", "the first message; the start", call="move(-1000000)", priority=True),
    Key("context.last", "end", "the last message; the end", call="move(1000000)", priority=True),
    Key("context.expand", "enter", "open the message, or go back", priority=True),
    Key("context.back", "escape,c", "back to the list, or close", required=True),
    Key("help.close", "escape,q,f1,enter", "close", required=True),
    Key("help.find", "slash,ctrl+f", "find a key or a command"),
    Key("help.down", "j", "a line down (also ↓)", call="scroll(1)"),
    Key("help.up", "k", "a line up (also ↑)", call="scroll(-1)"),
    Key("help.page_down", "space", "page down (also PgDn)", call="page(1)"),
    Key("welcome.back", "escape", "a step back; in the first step: quit", required=True),
    *_digits("welcome", "the choice of that number"),
    Key("list.move", "up,down,home,end,pageup,pagedown", "to another answer"),
    Key("list.choose", "enter", "choose the highlighted answer"),
    Key("answers.cursor_up", "up", "the previous answer"),
    Key("answers.cursor_down", "down", "the next answer"),
    Key("answers.choose", "enter", "choose the highlighted answer", required=True),
    Key(
        "docked.conversation_up",
        "shift+up,alt+up",
        "scroll the conversation up",
        call="scroll_conversation(-3)",
        priority=True,
    ),
    Key(
        "docked.conversation_down",
        "shift+down,alt+down",
        "scroll the conversation down",
        call="scroll_conversation(3)",
        priority=True,
    ),
    Key("dialog.interrupt", "ctrl+c", "copy the selection, else stop the agent", priority=True),
)
