"""Parts that wire formats share: pure translation of message content."""
