"""Threads, cancellation and interruptible waits."""
