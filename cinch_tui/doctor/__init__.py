"""Checks of configuration, connections and keys, with remedies."""
