"""The same agent without a screen: lines that follow each other, for screen readers, dumb terminals and scrollback."""
