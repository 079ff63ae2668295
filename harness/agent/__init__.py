"""The agent, its loop, and what belongs to one run."""
