"""Judging the answers of parallel runs by a model."""
