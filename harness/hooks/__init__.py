"""Where a program may act on a run."""
