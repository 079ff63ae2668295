"""Text work that several tools share."""
