"""Every key that cinch answers to, as it is and as a person changed it."""
