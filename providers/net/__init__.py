"""HTTP requests to services, and their errors."""
