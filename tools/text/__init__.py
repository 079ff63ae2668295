"""Finding and replacing text for edit_file."""
