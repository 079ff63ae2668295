"""The small parts of the screen. They know neither screens nor the app."""
