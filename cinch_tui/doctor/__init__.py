"""What keeps cinch from working: on this machine, on the way to each service, and at the service itself."""
