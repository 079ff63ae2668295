"""Which models a person can choose, and choosing one."""
