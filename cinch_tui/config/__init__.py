"""Configuration: settings in layers, paths, trust, and editing the user's file."""
