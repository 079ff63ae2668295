"""Plain mode: line output instead of the full-screen app, for screen readers, dumb terminals and scrollback."""
