"""What can be set, where it was set, and changing it."""
