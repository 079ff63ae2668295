"""Sessions as trees of runs: what they hold, and the files they are kept in."""
