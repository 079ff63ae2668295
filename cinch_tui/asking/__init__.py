"""Questions on their way to a person and back."""
