"""Protocol of a proxy that forwards requests to models which cannot be reached directly."""
