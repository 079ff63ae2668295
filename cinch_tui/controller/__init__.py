"""The session controller: what connects the chat screen with its agent."""
