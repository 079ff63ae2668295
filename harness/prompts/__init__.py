"""What we tell a model before a person speaks."""
