"""Widgets, independent of screens and the app."""
