"""Execution of tool calls: scheduling, cache, limits, results and background jobs."""
