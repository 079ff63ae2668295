"""Web pages and web search as tools."""
