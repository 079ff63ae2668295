"""The full-screen app: start, themes, crash reports and the end."""
