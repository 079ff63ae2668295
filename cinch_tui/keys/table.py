"""Every key that cinch answers to: one table, from which bindings, help and documentation are made. Loads no screen.

The part of an id before the dot names who answers. The ids are stable: a person's settings name them to change a key.
"""

from __future__ import annotations

from cinch_tui.keys.names import key_label
from harness.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` as Textual spells them, separated by commas.

    `does` is the action where it is not the rest of the id, with its parameters: `scroll('up')`. `first` wins over
    whatever has the focus. Without a `needed` one the person would be stuck: it keeps a key.
    """

    id: str
    keys: str
    description: str
    call: str = ""
    priority: bool = False
    required: bool = False

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
    """Keys as people write them; digits in a row are a range."""
    if not keys:
        return "no key"
    *others, last = (key_label(key) for key in keys.split(","))
    if others and all(label.isdecimal() for label in (*others, last)):
        return f"{others[0]} to {last}"
    return f"{', '.join(others)} or {last}" if others else last


PLACES: dict[str, str] = {
    "prompt": "In the prompt",
    "line": "Editing a line",
    "chat": "While you talk to the agent",
    "transcript": "In the conversation",
    "search": "Searching the conversation",
    "tools": "In the calls that run",
    "queue": "In the list of what waits",
    "panel": "In a panel",
    "reader": "Reading what a panel has",
    "app": "Everywhere",
    "approval": "When you are asked about a call",
    "review": "In a change you choose from",
    "view": "In what a call would do",
    "question": "When the model asks you",
    "plan": "When a plan is shown",
    "changes": "In /diff",
    "picker": "In a list to pick from",
    "key_entry": "Entering an API key",
    "settings": "In the settings",
    "context": "In /context",
    "help": "In this help",
    "welcome": "At the first start",
    "list": "In a list of answers",
    "confirmation": "When you are asked to confirm",
    "short_list": "In a question with a few answers",
    "answers": "In the answers of a dialog",
    "docked": "When the agent waits for you",
    "dialog": "In every dialog",
}
"""Who answers, in the order of the help, and where that is."""

FIXED = ("list",)
"""Owners whose keys nobody can change: they are the screen library's."""

TYPED_IN = ("prompt", "line", "chat", "search", "app", "picker", "key_entry", *FIXED)
"""Owners that are heard where a letter is written."""

_HEARD_TOGETHER: tuple[tuple[str, ...], ...] = (
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
    """The keys that are heard in the same place, place by place."""
    named = {owner for chain in _HEARD_TOGETHER for owner in chain}
    others = dict.fromkeys(key.owner for key in KEYS if key.owner not in named)
    everywhere = [key for key in KEYS if key.owner == "app" and key.priority]
    places = [*_HEARD_TOGETHER, *((owner, "dialog") for owner in others if owner not in FIXED)]
    return [[key for key in KEYS if key.owner in place] + ([] if "app" in place else everywhere) for place in places]


KEYS: tuple[Key, ...] = (
    Key("prompt.submit", "enter", "send; while the agent works, steer it; empty: deliver it now", required=True),
    Key("prompt.follow_up", "alt+enter", "send when the agent is done"),
    Key("prompt.newline", "shift+enter,ctrl+j", "new line (also \\ and Enter)"),
    Key("prompt.older", "up", "earlier prompt, from the first line"),
    Key("prompt.newer", "down", "later prompt, from the last line"),
    Key("prompt.earlier", "ctrl+p", "as ↑; in an empty prompt, all commands"),
    Key("prompt.later", "ctrl+n", "as ↓"),
    Key("prompt.search_history", "ctrl+r", "search earlier prompts; again: an older one"),
    Key("prompt.stop_search", "ctrl+c", "end the search, back to what was typed"),
    Key("prompt.complete", "tab", "take the completion"),
    Key("prompt.close_popup", "escape", "close the completion"),
    Key("prompt.paste", "ctrl+v,alt+v", "paste from the system's clipboard, pictures too"),
    Key("prompt.open_editor", "ctrl+g", "go on writing in $EDITOR"),
    Key("line.left", "left", "a letter back", call="cursor_left"),
    Key("line.right", "right", "a letter forward", call="cursor_right"),
    Key("line.up", "up", "a line up", call="cursor_up"),
    Key("line.down", "down", "a line down", call="cursor_down"),
    Key("line.start", "home,ctrl+a", "to the start of the line", call="cursor_line_start"),
    Key("line.end", "end,ctrl+e", "to the end of the line", call="cursor_line_end"),
    Key("line.letter_left", "ctrl+b", "a letter back"),
    Key("line.letter_right", "ctrl+f", "a letter forward"),
    Key("line.word_left", "alt+b,alt+left,ctrl+left", "a word back"),
    Key("line.word_right", "alt+f,alt+right,ctrl+right", "a word forward"),
    Key("line.erase_letter", "ctrl+h", "erase the letter before the cursor"),
    Key("line.kill_blank_word_back", "ctrl+w", "cut back to the blank before"),
    Key("line.kill_word_back", "alt+backspace,ctrl+backspace", "cut the word before the cursor"),
    Key("line.kill_word", "alt+d,alt+delete,ctrl+delete", "cut the word after the cursor"),
    Key("line.kill_line", "ctrl+k", "cut to the end of the line"),
    Key("line.kill_line_back", "ctrl+u", "cut to the start of the line"),
    Key("line.yank", "ctrl+y", "bring back what was cut last"),
    Key("line.yank_other", "alt+y", "then: what was cut before that"),
    Key("line.swap_letters", "ctrl+t", "swap two letters"),
    Key("line.swap_words", "alt+t", "swap two words"),
    Key("line.upper_word", "alt+u", "the word in capitals"),
    Key("line.lower_word", "alt+l", "the word in small letters"),
    Key("line.capital_word", "alt+c", "the word with a capital"),
    Key("line.undo", "ctrl+underscore,ctrl+shift+minus,ctrl+slash,super+z", "undo"),
    Key("line.redo", "alt+e,ctrl+shift+z,super+y", "do again what was undone"),
    Key("line.erase_back", "backspace", "erase the letter before the cursor", call="delete_left"),
    Key("line.erase", "delete,ctrl+d", "erase the letter after the cursor", call="delete_right"),
    Key("line.erase_line", "ctrl+shift+k", "erase the whole line", call="delete_line"),
    Key("line.select_left", "shift+left", "select a letter back", call="cursor_left(True)"),
    Key("line.select_right", "shift+right", "select a letter forward", call="cursor_right(True)"),
    Key("line.select_up", "shift+up", "select a line up", call="cursor_up(True)"),
    Key("line.select_down", "shift+down", "select a line down", call="cursor_down(True)"),
    Key("line.select_word_left", "ctrl+shift+left", "select a word back", call="cursor_word_left(True)"),
    Key("line.select_word_right", "ctrl+shift+right", "select a word forward", call="cursor_word_right(True)"),
    Key("line.select_start", "shift+home", "select to the start of the line", call="cursor_line_start(True)"),
    Key("line.select_end", "shift+end", "select to the end of the line", call="cursor_line_end(True)"),
    Key("line.select_line", "alt+h", "select the line"),
    Key("line.select_all", "f7,alt+a", "select all"),
    Key("line.cut", "ctrl+x,super+x", "cut what is selected"),
    Key("line.copy", "ctrl+c,super+c", "copy what is selected"),
    Key("chat.abort", "escape", "deliver a queued message now, else stop the agent"),
    Key("chat.interrupt", "ctrl+c", "copy the selection, else stop, else clear, else quit", required=True),
    Key("chat.leave", "ctrl+d", "twice in an empty prompt: quit"),
    Key("chat.toggle_plan", "shift+tab", "plan mode on or off"),
    Key("chat.help", "f1", "this help"),
    Key("chat.change_sides", "tab", "into the conversation, and back to the prompt"),
    Key("chat.toggle_fold", "f2", "open or fold the selected block"),
    Key("chat.next_colours", "f3", "your colours, white alone, black alone"),
    Key("chat.toggle_channels", "f5,alt+o", "show or hide thoughts, and what the program told the model"),
    Key("chat.next_approval", "f6", "ask before changes, before every call, or before nothing"),
    Key("chat.next_model", "f4", "the next model that was named or used, from the next prompt on"),
    Key("chat.previous_block", "shift+left", "select the block before"),
    Key("chat.next_block", "shift+right", "select the block after"),
    Key("chat.page_up", "pageup,alt+k", "page up in the conversation"),
    Key("chat.page_down", "pagedown,alt+j", "page down in the conversation"),
    Key("chat.scroll_top", "ctrl+home", "to the start of the conversation"),
    Key("chat.scroll_end", "ctrl+end", "to the end of the conversation"),
    Key("chat.page_transcript", "ctrl+o", "the whole conversation in $PAGER"),
    Key("chat.previous_prompt", "alt+up", "to the prompt before, in the conversation"),
    Key("chat.next_prompt", "alt+down", "to the prompt after, then to the end"),
    Key("chat.search", "ctrl+f", "find in the conversation"),
    Key("chat.context", "f8", "what fills the model's window"),
    Key("chat.queue", "alt+q", "into the list of what waits for the agent"),
    Key("chat.sessions", "alt+s", "go on with an earlier session"),
    Key("chat.focus_panel", "f9,alt+p", "into the calls that run, then into the panel, then back"),
    Key("chat.next_panel", "f10,alt+n", "show the next panel, after the last one none"),
    Key("transcript.above", "shift+up,alt+b", "select the block above, of any kind"),
    Key("transcript.below", "shift+down,alt+f", "select the block below"),
    Key("transcript.copy", "y", "on a selected block: copy it"),
    Key("transcript.copy_code", "c", "on a selected block: copy its last code; again: the code before"),
    Key("transcript.unfold", "enter", "open or fold the selected block, or the last call"),
    Key("transcript.mark", "v", "on a selected block: mark lines from there; ↑ ↓ extend, y copies"),
    Key("transcript.links", "l", "on a selected block: open or copy a link"),
    Key("transcript.open", "o", "on a selected block: open its picture in a viewer"),
    Key("transcript.stamps", "t", "on a selected block: show or hide the times"),
    Key("transcript.leave", "escape", "back to the prompt", required=True),
    Key("search.earlier", "up,enter", "in a search: the match above"),
    Key("search.later", "down,shift+enter", "in a search: the match below"),
    Key("search.stay", "tab", "end a search there"),
    Key("search.back", "escape", "end a search, back to where it began", required=True),
    Key("tools.up", "up,k", "the call above", call="move(-1)"),
    Key("tools.down", "down,j", "the call below", call="move(1)"),
    Key("tools.cancel", "x,delete", "cancel this call; the others go on", call="do('cancel')"),
    Key("tools.background", "b", "let this command go on in the background", call="do('background')"),
    Key("tools.show", "enter", "show this call in the conversation", call="do('show')"),
    Key("tools.leave", "escape", "back to the prompt", required=True),
    Key("queue.up", "up,k", "the message above", call="move(-1)"),
    Key("queue.down", "down,j", "the message below", call="move(1)"),
    Key(
        "queue.edit",
        "enter,e",
        "change it in the prompt; Enter there puts it back in its place",
        call="ask('edit')",
    ),
    Key("queue.remove", "d,delete,backspace", "take it out; ↑ in the prompt finds it", call="ask('remove')"),
    Key("queue.earlier", "shift+up,K", "before the message above", call="ask('earlier')"),
    Key("queue.later", "shift+down,J", "behind the message below", call="ask('later')"),
    Key("queue.switch", "s", "heard next, or when the agent is done", call="ask('switch')"),
    Key("queue.leave", "escape", "back to the prompt", required=True),
    Key("panel.up", "up,k", "the line above", call="move(-1)"),
    Key("panel.down", "down,j", "the line below", call="move(1)"),
    Key("panel.page_up", "pageup,alt+k", "page up", call="page(-1)"),
    Key("panel.page_down", "pagedown,alt+j", "page down", call="page(1)"),
    Key("panel.first", "home", "the first line", call="move(-1000000)"),
    Key("panel.last", "end", "the last line", call="move(1000000)"),
    Key("panel.open", "enter", "more of this line: the diff, the output, what it did", call="do('open')"),
    Key("panel.stop", "x,delete", "stop this job or sub-agent", call="do('stop')"),
    Key("panel.turn", "l", "in the log: from which level on", call="do('turn')"),
    Key("panel.next", "right,tab", "the next panel", call="do('next')"),
    Key("panel.previous", "left,shift+tab", "the panel before", call="do('previous')"),
    Key("panel.close", "q", "close the panel", call="do('close')"),
    Key("panel.leave", "escape", "back to the prompt", required=True),
    Key("reader.close", "escape,q,enter", "close", required=True),
    Key("reader.up", "k", "a line up (also ↑)", call="scroll(-1)"),
    Key("reader.down", "j", "a line down (also ↓)", call="scroll(1)"),
    Key("reader.page_down", "space", "page down (also PgDn)", call="page(1)"),
    Key("app.command_palette", "ctrl+p", "all commands"),
    # Also where a field has a use of its own for the key.
    Key("app.suspend_process", "ctrl+z", "stop, and back to the shell; fg goes on", priority=True),
    Key("app.quit", "ctrl+q", "quit", priority=True),
    Key("approval.once", "y", "allow once"),
    Key("approval.session", "s", "allow for this session"),
    Key("approval.always", "a", "allow always here"),
    Key("approval.exactly", "x", "allow exactly this always here"),
    Key("approval.next", "right", "the next of the calls that wait", call="go(1)"),
    Key("approval.previous", "left", "the one before", call="go(-1)"),
    Key("approval.allow_all", "A", "allow all that wait and are not dangerous"),
    Key("approval.allow_tool", "T", "allow those of this tool"),
    Key("approval.deny_all", "N", "deny all that wait"),
    Key("approval.up", "k", "the answer before (also ↑)", call="mark(-1)"),
    Key("approval.down", "j", "the next answer (also ↓)", call="mark(1)"),
    Key("approval.review", "h", "choose among the changes"),
    Key("approval.rewrite", "e", "change it in $EDITOR, then decide"),
    Key("approval.deny", "n", "deny"),
    Key("approval.back", "escape", "deny; from the changes or a reason: back", required=True),
    Key("approval.explain", "d", "deny and say why"),
    Key("approval.split", "v", "side by side, or one under the other"),
    Key("approval.unfold", "u", "show or fold unchanged lines"),
    Key("approval.page_up", "pageup,alt+k", "page up", call="scroll('page_up')", priority=True),
    Key("approval.page_down", "pagedown,alt+j", "page down", call="scroll('page_down')", priority=True),
    Key("approval.line_up", "ctrl+up", "a line up", call="scroll('up')", priority=True),
    Key("approval.line_down", "ctrl+down", "a line down", call="scroll('down')", priority=True),
    Key("approval.top", "ctrl+home", "to the top", call="scroll('home')", priority=True),
    Key("approval.end", "ctrl+end", "to the end", call="scroll('end')", priority=True),
    Key("question.up", "k", "the choice above (also ↑)", call="mark(-1)"),
    Key("question.down", "j", "the choice below (also ↓)", call="mark(1)"),
    *(
        Key(f"question.pick_{number}", f"{number}", "the choice of that number", call=f"pick({number - 1})")
        for number in range(1, 10)
    ),
    Key("question.tick", "space", "take or leave the choice, where several may be taken"),
    Key("question.next", "tab,right", "the next question, where there are several", call="go(1)"),
    Key("question.previous", "shift+tab,left", "the question before", call="go(-1)"),
    Key("question.edit", "e", "edit the choice"),
    Key("question.write", "o", "write another answer"),
    Key("question.back", "escape", "skip; from writing: back to the choices", required=True),
    Key("question.page_up", "pageup,alt+k", "page up", call="scroll(-1)", priority=True),
    Key("question.page_down", "pagedown,alt+j", "page down", call="scroll(1)", priority=True),
    Key("review.next", "down,j", "the next change", call="go(1)"),
    Key("review.previous", "up,k", "the change before", call="go(-1)"),
    Key("review.flip", "space", "take or skip this change"),
    Key("review.take", "y", "take this change and continue", call="decide(True)"),
    Key("review.leave", "n", "skip this change and continue", call="decide(False)"),
    Key("review.explain", "d", "skip this change with a reason"),
    Key("review.all", "a", "take all changes"),
    Key("review.none", "r", "skip all changes"),
    Key("review.finish", "enter", "back to the answers", required=True),
    Key("view.up", "k", "a line up (also ↑)", call="scroll_up"),
    Key("view.down", "j", "a line down (also ↓)", call="scroll_down"),
    Key("plan.accept", "y", "accept"),
    Key("plan.accept_with_edits", "a", "accept and allow all edits this session"),
    Key("plan.reject", "n", "keep planning"),
    Key("plan.keep_planning", "d", "keep planning, with feedback"),
    Key("plan.edit", "e", "edit the plan in $EDITOR"),
    Key("plan.up", "k", "the answer before (also ↑)", call="mark(-1)"),
    Key("plan.down", "j", "the next answer (also ↓)", call="mark(1)"),
    Key("plan.back", "escape", "keep planning", required=True),
    Key("plan.page_up", "pageup,alt+k", "page up", call="scroll(-1)", priority=True),
    Key("plan.page_down", "pagedown,alt+j", "page down", call="scroll(1)", priority=True),
    Key("changes.back", "escape,q", "back, or close", required=True),
    Key("changes.base", "g", "compare with the start of the session, or with git"),
    Key("changes.put_back_file", "x", "revert the whole file"),
    Key("changes.put_back_marked", "w", "revert the skipped changes"),
    Key("confirmation.no", "n,escape", "no", required=True),
    Key("confirmation.yes", "y", "yes"),
    *(
        Key(f"short_list.pick_{number}", f"{number}", "the answer of that number", call=f"pick({number - 1})")
        for number in range(1, 10)
    ),
    Key("short_list.cancel", "escape", "close it without an answer", required=True),
    Key("changes.split", "v", "side by side, or one under the other"),
    Key("changes.unfold", "u", "show or fold unchanged lines"),
    Key("changes.page_up", "pageup,alt+k", "page up", call="scroll('page_up')", priority=True),
    Key("changes.page_down", "pagedown,alt+j", "page down", call="scroll('page_down')", priority=True),
    Key("picker.up", "up", "the item above", call="move(-1)", priority=True),
    Key("picker.down", "down", "the item below", call="move(1)", priority=True),
    Key("picker.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("picker.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("picker.first", "ctrl+home", "the first item", call="move(-1000000)", priority=True),
    Key("picker.last", "ctrl+end", "the last item", call="move(1000000)", priority=True),
    Key("picker.cancel", "escape", "close it, and pick nothing", required=True),
    Key("key_entry.cancel", "escape", "close it, and store nothing", required=True),
    Key("settings.up", "up", "the setting above", call="move(-1)", priority=True),
    Key("settings.down", "down", "the setting below", call="move(1)", priority=True),
    Key("settings.page_up", "pageup,alt+k", "page up", call="page(-1)", priority=True),
    Key("settings.page_down", "pagedown,alt+j", "page down", call="page(1)", priority=True),
    Key("settings.first", "ctrl+home", "the first setting", call="move(-1000000)", priority=True),
    Key("settings.last", "ctrl+end", "the last setting", call="move(1000000)", priority=True),
    Key("settings.next", "right,space", "the next choice", call="step(1)", priority=True),
    Key("settings.previous", "left", "the choice before", call="step(-1)", priority=True),
    Key("settings.reset", "delete,ctrl+r", "the default again", priority=True),
    Key("settings.open_file", "ctrl+g", "open the file in $EDITOR", priority=True),
    Key("settings.back", "escape", "leave a field, end the search, or close", required=True),
    Key("context.up", "up", "the message above; in one that is read: a line up", call="move(-1)", priority=True),
    Key("context.down", "down", "the message below; a line down", call="move(1)", priority=True),
    Key("context.page_up", "pageup,alt+k", "ten messages up; a page up", call="page(-1)", priority=True),
    Key("context.page_down", "pagedown,alt+j", "ten messages down; a page down", call="page(1)", priority=True),
    Key("context.first", "home", "the first message; the start", call="move(-1000000)", priority=True),
    Key("context.last", "end", "the last message; the end", call="move(1000000)", priority=True),
    Key("context.expand", "enter", "read the message, or go back", priority=True),
    Key("context.back", "escape,c", "back to the list, or close", required=True),
    Key("help.close", "escape,q,f1,enter", "close", required=True),
    Key("help.find", "slash,ctrl+f", "find a key or a command"),
    Key("help.down", "j", "a line down (also ↓)", call="scroll(1)"),
    Key("help.up", "k", "a line up (also ↑)", call="scroll(-1)"),
    Key("help.page_down", "space", "page down (also PgDn)", call="page"),
    Key("welcome.back", "escape", "a step back; from the first: leave", required=True),
    *(
        Key(f"welcome.pick_{number}", f"{number}", "the choice of that number", call=f"pick({number - 1})")
        for number in range(1, 10)
    ),
    Key("list.move", "up,down,home,end,pageup,pagedown", "to another answer"),
    Key("list.choose", "enter", "take the answer that is marked"),
    Key("answers.cursor_up", "up", "the answer before"),
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
