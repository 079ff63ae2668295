"""Construction of an agent from options and settings."""
