"""What happens between the chat screen and its agent: what is said to it, and what it answers."""
