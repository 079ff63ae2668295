"""Available models, and choosing one."""
