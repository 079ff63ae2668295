"""Session formats of other programs: import and export."""
