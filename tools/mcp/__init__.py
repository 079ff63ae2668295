"""MCP (Model Context Protocol): tools, resources and prompts of servers."""
