"""What print mode writes, and what it comes to."""
