"""What wire formats have in common: pure translation, of the content of messages."""
