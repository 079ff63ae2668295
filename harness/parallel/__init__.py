"""One prompt answered by several configurations."""
