"""OpenAI's Chat Completions API and compatible servers."""
