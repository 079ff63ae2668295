"""Publishing events to subscribers."""
