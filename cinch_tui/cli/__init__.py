"""The command line: arguments, start and dispatch."""
