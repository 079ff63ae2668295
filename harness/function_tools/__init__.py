"""Functions and schemas as tools, argument validation and output types."""
