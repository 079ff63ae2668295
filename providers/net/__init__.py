"""Requests to services over HTTP, and all that can happen to them."""
