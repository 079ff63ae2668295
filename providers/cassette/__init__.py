"""Exchanges with a service kept in a file, without secrets, and played again without the service.

A cassette is a file of JSON lines: a head, then for each exchange its request, its response, the response's bytes as
they came and how they ended. Exchanges that overlap are mixed; a line that cannot be read is passed over.
"""
