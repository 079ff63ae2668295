"""Export of a session as one HTML page that needs no network."""
