"""Files the agent may read and change."""
