"""Recorded exchanges with a service, without secrets, which can be replayed without the service.

A cassette is a file of JSON lines: a header, then for each exchange its request, its response, the bytes of the
response as received and how they ended. Overlapping exchanges are interleaved; unreadable lines are skipped.
"""
