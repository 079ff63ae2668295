"""Definitions and references in source code, found with tree-sitter: index on disk, lookup and repository map."""
