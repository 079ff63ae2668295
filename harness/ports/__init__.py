"""Ports: Protocols that front ends, providers and tools implement, with their value types."""
