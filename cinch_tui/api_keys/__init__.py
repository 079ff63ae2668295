"""API keys: checking one, storing it, and applying it to the running agent."""
