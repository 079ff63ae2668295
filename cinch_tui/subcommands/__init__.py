"""Subcommands: `cinch config`, `keys`, `models`, `sessions` …"""
