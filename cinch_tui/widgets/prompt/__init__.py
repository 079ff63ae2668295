"""The prompt and what belongs to it."""

from cinch_tui.widgets.prompt.prompt import Prompt as Prompt
